"""The sweeps among the runs, so that they are found again: each opens its page."""

from html import escape

import streamlit as st

from profiler_core.dates import minute
from profiler_core.store import catalogue
from profiler_core.store.sweeps import SweepGroup
from profiler_core.ui.links import page_link, plain_label
from profiler_core.ui.page import section
from profiler_core.ui.sweep.choose import query_of_sweep

_SHOWN = 8


def show_sweeps() -> None:
    """One line each, the newest first; nothing where there is none."""
    listed = catalogue.sweep_groups(_SHOWN)
    if not listed:
        return
    section("Sweeps", "Each point of a sweep is a comparison of its own in the list below.")
    for sweep in listed:
        with st.container(key=f"fs_sweep_{sweep.key}", gap="xxsmall"):
            page_link("sweep", plain_label(sweep.title), query_of_sweep(sweep.key))
            st.html(f"<p class=fs-note>{_facts(sweep)}</p>")
    n_older = catalogue.n_sweeps() - len(listed)
    if n_older > 0:
        note = f"{n_older} older ones can be chosen on the page Sweeps."
        st.html(f"<p class=fs-note>{note}</p>")


def _facts(sweep: SweepGroup) -> str:
    n, n_asked = len(sweep.points), len(sweep.point.values) or len(sweep.points)
    facts = [f"{n} points" if n == n_asked else f"{n} of {n_asked} points"]
    if sweep.is_alive:
        facts.append("being captured now")
    if sweep.created_at:
        facts.append(minute(sweep.created_at))
    return escape(" · ".join(facts))
