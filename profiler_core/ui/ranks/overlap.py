"""What compiling did to overlap: the exchange by kind, what moved, what collectives slow."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.ranks.overlap import Overlap, overlap
from profiler_core.analysis.rows.overlap import (
    MEANING,
    TITLE,
    overlap_sentences,
    overlap_table,
    slowed_table,
)
from profiler_core.ui.links import plain_label
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.ranks.data import ChosenJob
from profiler_core.ui.table import show_table


def show_overlap(result: Overlap, names: str = "") -> None:
    """One candidate's exchange beside the baseline's.

    Args:
        result: of both.
        names: of the two runs, where the page does not say them.
    """
    section(TITLE, f"{names} {MEANING}".strip())
    show_table(overlap_table(result), named=True, width_px=1040)
    show_notes(overlap_sentences(result))


def show_overlaps(jobs: Sequence[ChosenJob], kernels: Sequence[KernelRow]) -> None:
    """Each further job beside the first, with the kernels that collectives slow there.

    Args:
        jobs: that are shown.
        kernels: of all chosen runs, which have dossiers.
    """
    names = [row.name for row in kernels]
    for chosen in jobs[1:]:
        result = overlap((jobs[0].job.critical, chosen.job.critical))
        if result is None:
            continue
        show_overlap(result, f"{jobs[0].label} → {chosen.label}.")
        slowed = slowed_table(result, 1, names)
        if slowed.rows:
            label = plain_label(chosen.label)
            with st.expander(f"Kernels of {label} that collectives beside them slow"):
                show_table(slowed, named=True, width_px=1040)
