"""One kernel in depth: its name in full, its calls in each run, who launched it."""

from collections.abc import Mapping
from html import escape

import streamlit as st

from profiler_core.analysis.counters.kernels import KernelCounters
from profiler_core.analysis.kernel_calls import KernelCalls
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.figures.duration_histogram import duration_histogram
from profiler_core.store.library import Entry
from profiler_core.ui.analyses import calls_of
from profiler_core.ui.charts import show_figure
from profiler_core.ui.choice import Choice
from profiler_core.ui.counters.words import detail_lines
from profiler_core.ui.kernels.table import Measured
from profiler_core.ui.links import page_link
from profiler_core.ui.page import section
from profiler_core.ui.reading import read_trace
from profiler_core.ui.run_heads import breakable
from profiler_core.ui.style import colors
from profiler_core.ui.timeline.link import link_to_event
from profiler_core.units import format_count, format_duration

_MOST_NAMED = 4


def show_kernel(
    choice: Choice,
    shown: tuple[tuple[int, Entry, str], ...],
    row: KernelRow,
    measured: Measured,
) -> None:
    """Draw it.

    Args:
        choice: what the links lead to.
        shown: (place in the choice, run, label) of the runs in `row`, in its order.
        row: the kernel.
        measured: counters of the same runs.
    """
    section("Selected kernel")
    st.html(f"<p class=fs-mono>{escape(row.name)}</p>")
    calls = [calls_of(entry, row.name) for _, entry, _ in shown]
    labels = [label for _, _, label in shown]
    counted = [None if one is None else one.get(row.name) for one in measured]
    st.html(_table(labels, row, calls, counted))
    figure = duration_histogram(labels, [c.dur_ns for c in calls], colors())
    show_figure(
        figure, key="durations", alt=f"How long single calls of {row.name[:80]} took in each run."
    )
    with st.container(horizontal=True, key="fs_way_on_kernel"):
        for (number, entry, label), call in zip(shown, calls, strict=True):
            if call.longest is not None:
                query = {
                    **choice.query,
                    **link_to_event(read_trace(entry), number, *call.longest),
                }
                page_link("timeline", f"Longest call in {label} on the timeline", query)


def _table(
    labels: list[str],
    row: KernelRow,
    calls: list[KernelCalls],
    counted: list[KernelCounters | None],
) -> str:
    heads = "".join(f"<th>{breakable(label)}</th>" for label in labels)

    def line(name: str, cells: list[str]) -> str:
        return f"<tr><th scope=row>{name}</th>{''.join(f'<td>{c}</td>' for c in cells)}</tr>"

    sides = row.sides
    body = (
        line("Calls a step", [format_count(s.n) if s else "–" for s in sides])
        + line("Time a step", [format_duration(s.time_ns) if s else "–" for s in sides])
        + line("Mean", [format_duration(s.mean_ns) if s else "–" for s in sides])
        + line("Shortest", [format_duration(s.min_ns) if s else "–" for s in sides])
        + line("Longest", [format_duration(s.max_ns) if s else "–" for s in sides])
    )
    if any(c.by_operator for c in calls):
        body += line("Operator", [_named(c.by_operator, c.n) for c in calls])
    if any(c.by_launch for c in calls):
        body += line("Launched by", [_named(c.by_launch, c.n) for c in calls])
    if any(c.grids for c in calls):
        body += line("Shapes", [_named(c.grids, c.n) for c in calls])
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
