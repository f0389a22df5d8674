"""One kernel in depth: its name in full, its calls in each run, who launched it."""

from collections.abc import Callable, Mapping
from html import escape

import streamlit as st

from profiler_core.analysis.counters.kernels import KernelCounters
from profiler_core.analysis.kernel_calls import KernelCalls, kernel_calls
from profiler_core.analysis.kernel_sides import KernelRow, KernelSide
from profiler_core.figures.duration_histogram import duration_histogram
from profiler_core.markup import breakable
from profiler_core.ui.charts import show_figure
from profiler_core.ui.choice import Choice
from profiler_core.ui.counters.words import detail_lines
from profiler_core.ui.kernels.data import ShownRun
from profiler_core.ui.kernels.table import Measured
from profiler_core.ui.links import page_link
from profiler_core.ui.page import section
from profiler_core.ui.style import colors
from profiler_core.ui.timeline.link import link_to_event
from profiler_core.units import format_count, format_duration

_MOST_NAMED = 4


def show_kernel(
    choice: Choice,
    shown: tuple[ShownRun, ...],
    row: KernelRow,
    measured: Measured,
) -> None:
    """Draw it.

    Args:
        choice: what the links lead to.
        shown: the runs in `row`, in its order.
        row: the kernel.
        measured: counters of the same runs.
    """
    section("Selected kernel")
    st.html(f"<p class=fs-mono>{escape(row.name)}</p>")
    traces = [run.run.required_trace() for run in shown]
    calls = [kernel_calls(trace, row.name) for trace in traces]
    labels = [run.label for run in shown]
    counted = [None if run is None else run.get(row.name) for run in measured]
    st.html(_table(labels, row, calls, counted))
    figure = duration_histogram(labels, [c.dur_ns for c in calls], colors())
    show_figure(
        figure, key="durations", alt=f"How long single calls of {row.name[:80]} took in each run."
    )
    with st.container(horizontal=True, key="fs_way_on_kernel"):
        for run, trace, call in zip(shown, traces, calls, strict=True):
            if call.longest is not None:
                query = {**choice.query, **link_to_event(trace, run.number, *call.longest)}
                page_link("timeline", f"Longest call in {run.label} on the timeline", query)


def _table(
    labels: list[str],
    row: KernelRow,
    calls: list[KernelCalls],
    counted: list[KernelCounters | None],
) -> str:
    heads = "".join(f"<th>{breakable(label)}</th>" for label in labels)

    def line(name: str, cells: list[str]) -> str:
        return f"<tr><th scope=row>{name}</th>{''.join(f'<td>{c}</td>' for c in cells)}</tr>"

    def durations(ns_of: Callable[[KernelSide], float]) -> list[str]:
        return [format_duration(ns_of(side)) if side else "–" for side in row.sides]

    body = (
        line("Calls a step", [format_count(side.n) if side else "–" for side in row.sides])
        + line("Time per step", durations(lambda side: side.time_ns))
        + line("Mean", durations(lambda side: side.mean_ns))
        + line("Shortest", durations(lambda side: side.min_ns))
        + line("Longest", durations(lambda side: side.max_ns))
    )
    for name, counts in (
        ("Operator", [c.by_operator for c in calls]),
        ("Launched by", [c.by_launch for c in calls]),
        ("Shapes", [c.grids for c in calls]),
    ):
        if any(counts):
            body += line(name, [_named(n, c.n) for n, c in zip(counts, calls, strict=True)])
    for name, cells in detail_lines(counted):
        body += line(name, cells)
    return (
        '<div class=fs-scroll><table class="fs-t fs-detail"><thead><tr><th></th>'
        f"{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _named(counts: Mapping[str, int], n_calls: int) -> str:
    """The most frequent names, one a line; the share only where it is not all."""
    if not n_calls:
        return "–"
    if not counts:
        return "not in the trace"
    lines = [
        escape(name) + ("" if n == n_calls else f" <small>{n / n_calls:.0%}</small>")
        for name, n in list(counts.items())[:_MOST_NAMED]
    ]
    if len(counts) > _MOST_NAMED:
        lines.append(f"<small>and {len(counts) - _MOST_NAMED} more</small>")
    return "<br>".join(lines)
