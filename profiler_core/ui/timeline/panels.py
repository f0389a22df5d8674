"""What Python shows beside the canvas: the selected event in words, the measured span as a table.

It is also how a screen reader gets at both: everything here is text.
"""

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.ledger.graph_calls import is_generated
from profiler_core.analysis.operator_arguments import inputs_and_results
from profiler_core.analysis.wording.sentence import capitalised
from profiler_core.spreadsheet import harmless
from profiler_core.timeline.event import Uncounted
from profiler_core.timeline.host_categories import HOST_CATEGORIES
from profiler_core.timeline.span import SpanRow, busy_in_span
from profiler_core.ui.timeline.component import Picked
from profiler_core.ui.timeline.scene import SceneRun, offset_ns, track_label
from profiler_core.units import format_bytes, format_count, format_duration


def span_panel(span: tuple[int, int] | None, runs: Sequence[SceneRun], step: int) -> None:
    """What each run did in the measured span, by track and category."""
    with st.container(border=True, height="stretch"):
        st.markdown("**Measured span**")
        if span is None:
            st.caption("Hold Shift and drag over the timeline to measure what was busy in a span.")
            return
        start_ns, end_ns = span
        st.caption(
            f"{format_duration(end_ns - start_ns)} from {_signed(start_ns)} on the common axis"
        )
        rows = [
            _span_row(run, row, end_ns - start_ns)
            for run in runs
            for row in _in_span(run, step, span)
        ]
        if not rows:
            st.caption("Nothing ran in it.")
            return
        st.dataframe(
            rows,
            hide_index=True,
            height="content" if len(rows) < 12 else 440,
            column_config={
                "share": st.column_config.ProgressColumn(
                    "of the span", min_value=0.0, max_value=1.0, format="percent"
                )
            },
        )


def event_facts(picked: Picked, runs: Sequence[SceneRun]) -> list[tuple[str, str]]:
    """Term and text; what is not known is left out."""
    event = picked.event
    run = next(run for run in runs if run.number == picked.run)
    label = CATEGORIES.get(event.category) or HOST_CATEGORIES.get(event.category, event.category)
    inputs, _ = inputs_and_results(event.shapes_of or "", event.input_dims, event.input_types)
    facts: list[tuple[str, str | None]] = [
        ("Run", f"{run.label} ({run.role})"),
        ("Where", track_label(event.track)),
        ("Category", capitalised(label)),
        ("Duration", format_duration(event.dur_ns)),
        ("Starts", _start(picked, has_steps=bool(run.index.layout.steps))),
        ("Operators", " › ".join(event.operators) or None),
        ("Annotation", event.annotation),
        ("Source", " · ".join(event.source_lines) or None),
        ("Launched by", event.launch_name),
        ("Launch delay", _delay(event.launch_delay_ns)),
        ("Launched", _launched(event.n_launched, event.launched_ns)),
        # A generated kernel is handed what it writes to among its inputs.
        ("Argument shapes" if is_generated(event.shapes_of or "") else "Input shapes", inputs),
        ("Grid × block", _grid(event.grid, event.block)),
        ("Registers a thread", _count(event.registers_per_thread)),
        (
            "Shared memory",
            None if event.shared_memory_bytes is None else format_bytes(event.shared_memory_bytes),
        ),
        ("Occupancy (estimate)", _occupancy(event.occupancy_pct)),
        ("Bytes", None if event.bytes is None else format_bytes(event.bytes)),
    ]
    return [(term, text) for term, text in facts if text]


def show_facts(facts: Sequence[tuple[str, str]]) -> None:
    """The facts of an event that no dossier is about."""
    pairs = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in facts)
    st.html(f"<dl class=fs-facts>{pairs}</dl>")


def _occupancy(pct: float | None) -> str | None:
    """Kineto's estimate; it writes 0 where it cannot make one, e.g. above 48 kB shared memory."""
    if pct is None:
        return None
    return f"{pct:.0f} %" if pct > 0 else "not known: the profiler made no estimate"


_UNCOUNTED: Mapping[Uncounted, str] = {
    "launched before the trace": "it was launched before the profiler began",
    "launched before the steps": "it was launched before the first one",
    "launched after": "it was launched after the last one",
}


def _start(picked: Picked, *, has_steps: bool) -> str:
    """Within its step's range on the host, else how far from it: the device runs behind.

    Args:
        picked: the event.
        has_steps: its trace marks steps.
    """
    event = picked.event
    if event.step is None or event.start_in_step_ns is None:
        of_trace = f"{format_duration(event.ts_ns)} after the start of the trace"
        why = event.uncounted and _UNCOUNTED[event.uncounted]
        where = "in no step and not counted" if has_steps else "not counted"
        return f"{of_trace}, {where}: {why}" if why else of_trace
    name = event.step.name.replace("ProfilerStep#", "step ")
    late_ns = event.ts_ns - event.step.end_ns
    if late_ns >= 0:
        return (
            f"{format_duration(late_ns)} after {name} ended on the host, and counted in that step"
        )
    return f"{format_duration(event.start_in_step_ns)} into {name}"


def _delay(delay_ns: int | None) -> str | None:
    if delay_ns is None:
        return None
    if delay_ns < 0:
        return f"started {format_duration(-delay_ns)} before its launch call returned"
    return f"{format_duration(delay_ns)} after its launch call returned"


def _launched(n: int | None, total_ns: int | None) -> str | None:
    if not n or total_ns is None:
        return None
    noun = "device event" if n == 1 else "device events"
    return f"{format_count(n)} {noun}, {format_duration(total_ns)} together"


def _grid(grid: str | None, block: str | None) -> str | None:
    return None if grid is None or block is None else f"{grid} × {block}"


def _count(n: int | None) -> str | None:
    return None if n is None else format_count(n)


def _signed(ns: int) -> str:
    return format_duration(ns).replace("-", "−")


def _in_span(run: SceneRun, step: int, span: tuple[int, int]) -> tuple[SpanRow, ...]:
    offset = offset_ns(run.index, step)
    return busy_in_span(run.index, span[0] + offset, span[1] + offset)


def _span_row(run: SceneRun, row: SpanRow, length_ns: int) -> dict[str, object]:
    label = CATEGORIES.get(row.category) or HOST_CATEGORIES.get(row.category, row.category)
    return {
        "run": harmless(run.label),
        "where": harmless(track_label(row.track)),
        "category": label,
        "busy": format_duration(row.busy_ns),
        "share": row.share_of(length_ns),
        "started": row.n_started,
    }
