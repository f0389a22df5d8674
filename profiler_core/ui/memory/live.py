"""What was live at the peak: by operator from the trace, by source line from the snapshot."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.memory.live import LiveSet
from profiler_core.analysis.memory.snapshot import SnapshotLive
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.figures.memory_icicle import memory_icicle
from profiler_core.figures.names import short_kernel_name
from profiler_core.ui.charts import show_figure
from profiler_core.ui.memory.data import Remembered
from profiler_core.ui.page import section
from profiler_core.ui.style import colors
from profiler_core.units import format_bytes, format_count, format_share

_ROWS = 10


def show_live(runs: Sequence[Remembered]) -> None:
    """One column a run; nothing where no run says it."""
    with_live = [run for run in runs if run.report.live or run.report.history]
    if not with_live:
        return
    section(
        "Live at the peak",
        "What the step had made and still held at the moment of its allocated peak.",
    )
    for column, run in zip(st.columns(len(with_live), gap="large"), with_live, strict=True):
        with column:
            st.html(f"<h3 class=fs-h>{escape(run.label)}</h3>")
            if run.report.live is not None:
                st.html(_operators(run.report.live))
            history = run.report.history
            if history is not None and any(origin.path for origin, _, _ in history.live.rows):
                st.html(
                    "<p class=fs-note>By source line, from the snapshot: "
                    f"{_sum(history.live)}. Each row leads one call deeper.</p>"
                )
                show_figure(
                    memory_icicle(history.live, colors()),
                    key=f"memory_icicle_{run.number}",
                    alt="Live bytes at the snapshot's peak by the stack that allocated them.",
                )


def _sum(live: SnapshotLive) -> str:
    step_bytes = live.peak_bytes - live.before_bytes
    return f"{format_bytes(step_bytes)} of {format_bytes(live.peak_bytes)} asked for"


def _operators(live: LiveSet) -> str:
    step_bytes = live.peak_bytes - live.before_bytes
    rows = ""
    for row in live.rows[:_ROWS]:
        origin = " · ".join(part for part in (row.module, row.source) if part)
        below = f"<small>{escape(origin)}</small>" if origin else ""
        name = clipped(short_kernel_name(row.operator, 60), 48)
        rows += (
            f'<tr><th scope=row title="{escape(row.operator)}">{escape(name)}{below}</th>'
            f"<td>{format_count(row.n)}</td><td>{format_bytes(row.bytes)}</td>"
            f"<td>{format_share(row.bytes / step_bytes if step_bytes else None)}</td></tr>"
        )
    rest = live.rows[_ROWS:]
    if rest:
        rest_bytes = sum(row.bytes for row in rest)
        rows += (
            f"<tr><th scope=row>{len(rest)} more</th>"
            f"<td>{format_count(sum(row.n for row in rest))}</td>"
            f"<td>{format_bytes(rest_bytes)}</td>"
            f"<td>{format_share(rest_bytes / step_bytes if step_bytes else None)}</td></tr>"
        )
    if not live.rows:
        return "<p class=fs-note>Nothing: the peak was there before the steps.</p>"
    return (
        "<div class=fs-scroll><table class='fs-t fs-opened'><thead><tr><th>made for</th>"
        "<th class=fs-nowrap>buffers</th><th>bytes</th><th>share</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )
