"""What was live at the peak: by operator from the trace, by source line from the snapshot."""

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.item import Item
from profiler_core.analysis.kernel_names import short_kernel_name
from profiler_core.analysis.memory.live import LiveRow, LiveSet
from profiler_core.analysis.memory.report import span_beside
from profiler_core.analysis.memory.snapshot import SnapshotLive
from profiler_core.analysis.rows.table import Cell, Table, text_row
from profiler_core.analysis.wording.memory import where_made
from profiler_core.figures.icicle import HOW_TO_ZOOM
from profiler_core.figures.memory_icicle import memory_icicle
from profiler_core.session.comparison import Comparison
from profiler_core.session.search import named_items
from profiler_core.ui.charts import show_figure
from profiler_core.ui.memory.data import Remembered
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.style import colors
from profiler_core.ui.table import show_table
from profiler_core.units import format_bytes, format_count, format_share

_ROWS = 10


def show_live(runs: Sequence[Remembered], comparison: Comparison) -> None:
    """One column for each run; nothing where no run says it.

    Args:
        runs: that are shown.
        comparison: whose operators and kernels have dossiers.
    """
    with_live = [run for run in runs if run.report.live or run.report.history]
    if not with_live:
        return
    span = span_beside(run.report for run in with_live)
    without_steps = [run for run in with_live if run.report.span != span]
    with_live = [run for run in with_live if run not in without_steps]
    section(
        "Live at the peak",
        f"What was made {where_made(span)} and still held at the moment of the allocated peak.",
    )
    items = named_items(comparison)
    with st.container(key="fs_sides_live"):
        columns = st.columns(len(with_live), gap="large")
    for column, run in zip(columns, with_live, strict=True):
        with column:
            st.html(f"<h3 class=fs-h>{escape(run.label)}</h3>")
            if run.report.live is not None:
                _show_operators(run.report.live, items)
            history = run.report.history
            if history is not None and any(origin.path for origin, _, _ in history.live.rows):
                st.html(
                    "<p class=fs-note>By source line, from the snapshot: "
                    f"{_sum(history.live)}. Each row leads one call deeper. "
                    f"{HOW_TO_ZOOM}</p>"
                )
                show_figure(
                    memory_icicle(history.live, colors()),
                    key=f"memory_icicle_{run.number}",
                    alt="Live bytes at the snapshot's peak by the stack that allocated them.",
                )
    show_notes(f"{run.label} is left out: its trace has no whole steps." for run in without_steps)


def _sum(live: SnapshotLive) -> str:
    step_bytes = live.peak_bytes - live.before_bytes
    return f"{format_bytes(step_bytes)} of {format_bytes(live.peak_bytes)} asked for"


def _show_operators(live: LiveSet, items: Mapping[str, Item]) -> None:
    if not live.rows:
        show_notes(["Nothing: the peak came before the profiled steps."])
        return
    step_bytes = live.peak_bytes - live.before_bytes

    def numbers(rows: Sequence[LiveRow]) -> tuple[Cell, ...]:
        n_bytes = sum(row.bytes for row in rows)
        share = n_bytes / step_bytes if step_bytes else None
        n = format_count(sum(row.n for row in rows))
        return text_row(n, format_bytes(n_bytes), format_share(share))

    rows = [(_operator(row, items), *numbers([row])) for row in live.rows[:_ROWS]]
    rest = live.rows[_ROWS:]
    if rest:
        rows.append((Cell(f"{len(rest)} more"), *numbers(rest)))
    heads = ("made for", "buffers", "bytes", "share")
    show_table(Table(heads, tuple(rows)), "fs-opened fs-buffers", named=True)


def _operator(row: LiveRow, items: Mapping[str, Item]) -> Cell:
    origin = " · ".join(filter(None, (row.module, row.source)))
    name = short_kernel_name(row.operator, 48)
    return Cell(
        name, below=(origin,) if origin else (), hint=row.operator, item=items.get(row.operator)
    )
