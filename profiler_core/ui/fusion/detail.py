"""One fusion group opened: its operators and kernels on both sides, source, evidence, code."""

from html import escape

import pandas as pd
import streamlit as st

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.ledger.result import FusionGroup, GroupSide
from profiler_core.figures.names import plain_kernel_name
from profiler_core.model.inductor import InductorLog
from profiler_core.ui.fusion.data import Fused
from profiler_core.ui.page import section
from profiler_core.units import format_bytes, format_duration

_MOST_PX = 320


def show_group(found: Fused, folded: FoldedGroup) -> None:
    """Draw the first of the folded groups; the others are like it."""
    group = folded.first
    section("Open group", folded.title)
    if len(folded.groups) > 1:
        st.html(
            f"<p class=fs-note>The first of {len(folded.groups)} equal groups; all together "
            f"{format_duration(folded.baseline_ns)} → {format_duration(folded.candidate_ns)} "
            "a step.</p>"
        )
    left, right = st.columns(2, gap="large")
    for place, label, side, n_steps in (
        (left, found.labels[0], group.baseline, group.n_steps[0]),
        (right, found.labels[1], group.candidate, group.n_steps[1]),
    ):
        with place:
            _show_side(label, side, max(1, n_steps))
    st.html(_evidence(group))
    if found.log is not None:
        _show_code(found.log, group)


def _show_side(label: str, side: GroupSide, n_steps: int) -> None:
    operators = ", ".join(
        f"{one.op} ×{one.n / n_steps:.4g}" if one.n > n_steps else one.op for one in side.operators
    )
    moved = ""
    if side.bytes_moved is not None and side.bytes_per_s is not None:
        moved = (
            f" · at least {format_bytes(side.bytes_moved / n_steps)} moved, "
            f"{format_bytes(side.bytes_per_s)}/s"
        )
    what = (
        f"{format_duration(side.time_ns / n_steps)} a step in "
        f"{side.n_kernels / n_steps:.4g} kernels{moved}"
        if side.n_kernels
        else "No kernel."
    )
    st.html(
        f"<h3 class=fs-h>{escape(label)}</h3><p class=fs-note>{what}</p>"
        f"<p class=fs-mono>{escape(operators)}</p>"
    )
    if not side.kernels:
        return
    kernels = sorted(side.kernels, key=lambda one: -one.time_ns)
    frame = pd.DataFrame(
        {
            "name": [plain_kernel_name(one.name) for one in kernels],
            "kind": [CATEGORIES.get(one.category, one.category) for one in kernels],
            "n": [one.n / n_steps for one in kernels],
            "time": [one.time_ns / n_steps / 1e3 for one in kernels],
        }
    )
    st.dataframe(
        frame,
        hide_index=True,
        height=min(_MOST_PX, 40 + 35 * len(kernels)),
        column_config={
            "name": st.column_config.TextColumn("kernel", width=150),
            "kind": st.column_config.TextColumn("kind", width=96),
            "n": st.column_config.NumberColumn("n", format="%.4g", width=44),
            "time": st.column_config.NumberColumn("µs", format="%.1f", width=62),
        },
    )


def _evidence(group: FusionGroup) -> str:
    lines = "".join(
        f"<p class=fs-mono>{escape(label)}&emsp;{escape(code)}</p>" for label, code in group.sources
    )
    notes = " · ".join(escape(note) for note in group.notes[:8])
    how = (
        f"Matched by {escape(', '.join(group.evidence))}; confidence {group.confidence}."
        if group.kind == "matched"
        else escape(group.kind.capitalize()) + "."
    )
    return f"{lines}<p class=fs-note>{how}{' ' + notes + '.' if notes else ''}</p>"


def _show_code(log: InductorLog, group: FusionGroup) -> None:
    """Generated code of the group's kernels."""
    names = {one.op.split("graph_0_")[-1] for one in group.candidate.operators}
    sources = {
        name: graph.kernels[name].source
        for graph in log.graphs
        for name in names
        if name in graph.kernels
    }
    for name, source in list(sources.items())[:4]:
        with st.expander(f"Generated code: {name}"):
            st.code(source, language="python")
