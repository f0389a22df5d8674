"""Trends: one chart for each workload, a line for each variant; a click opens a run."""

from html import escape
from typing import Any

import streamlit as st

from profiler_core.analysis.trend import Trend, TrendChart, TrendPoint, trend
from profiler_core.figures.template import CONFIG
from profiler_core.figures.trend import Order, format_metric, trend_figure, trend_legend
from profiler_core.session.cache import SHARED
from profiler_core.store import history
from profiler_core.ui.charts import show_legend
from profiler_core.ui.notes import show_notes
from profiler_core.ui.runs.chosen_point import CHOSEN, show_chosen_point
from profiler_core.ui.runs.keeping import bring_up_to_date
from profiler_core.ui.runs.trend_filters import METRICS, choose_filters, choose_metric
from profiler_core.ui.style import colors

_MOST_CHARTS = 8


def show_trends() -> None:
    """Draw all of it."""
    problems = bring_up_to_date()
    if history.n_runs() == 0:
        _nothing_recorded()
        return
    filters = choose_filters()
    metric, order = choose_metric()
    # Thousands of runs take a second; the version retires what was found before a change.
    key = ("trend", history.where(), history.version(), filters, metric)
    result = SHARED.get(key, lambda: trend(history.runs(filters), metric))
    if not result.charts:
        st.html("<p class=fs-note>No finished run fits these filters and has this number.</p>")
    chosen = st.query_params.get(CHOSEN)
    several = [chart for chart in result.charts if _has_a_line(chart)]
    single = [chart for chart in result.charts if not _has_a_line(chart)]
    for number, chart in enumerate([*several, *single][:_MOST_CHARTS]):
        _show_chart(chart, metric, order, number, chosen)
    show_notes(_sentences(result, problems))


def _has_a_line(chart: TrendChart) -> bool:
    return any(len(line.points) > 1 for line in chart.lines)


def _show_chart(
    chart: TrendChart, metric: str, order: Order, number: int, chosen: str | None
) -> None:
    facts = " · ".join(escape(fact) for fact in chart.facts)
    st.html(f"<h2 class=fs-h>{escape(chart.workload)}</h2><p class=fs-question>{facts}</p>")
    palette = colors()
    show_legend(trend_legend(chart, palette))
    key = f"fs_trend_{number}"
    st.plotly_chart(
        trend_figure(chart, metric, palette, order=order, chosen=chosen),
        theme=None,
        config=CONFIG,
        key=key,
        on_select=lambda: _from_chart(key),
        selection_mode="points",
        alt=_alt(chart, metric),
    )
    point = _point(chart, chosen)
    if point is not None:
        show_chosen_point(point, metric)


def _from_chart(key: str) -> None:
    points: list[Any] = st.session_state[key]["selection"]["points"]
    data = points[0].get("customdata") if points else None
    if isinstance(data, list | tuple) and data:
        st.query_params[CHOSEN] = str(data[0])


def _point(chart: TrendChart, run_id: str | None) -> TrendPoint | None:
    points = (point for line in chart.lines for point in line.points)
    return next((point for point in points if point.run.run_id == run_id), None)


def _alt(chart: TrendChart, metric: str) -> str:
    clauses = [
        f"{line.variant}: {format_metric(metric, line.points[0].value)}"
        + (f" to {format_metric(metric, line.points[-1].value)}" if len(line.points) > 1 else "")
        for line in chart.lines
    ]
    return f"{METRICS[metric]} of {chart.workload} over time; {'; '.join(clauses)}"


def _sentences(result: Trend, problems: tuple[tuple[str, str], ...]) -> list[str]:
    sentences = []
    if result.metric == "step_time_ns" and result.charts:
        sentences.append(
            "The band around a line holds 90 % of a run's timed rounds. A diamond and a dotted "
            "line mark a run around which something else changed: torch, the driver, the clocks. "
            "A percentage stands where a run moved by more than its rounds wander."
        )
    for n, text in (
        (result.n_without_number, "not drawn: this number was not measured for {them}."),
        (result.n_unfinished, "not drawn: {they} failed, or {were} stopped."),
        (result.n_without_workload, "not drawn: nothing says which workload {they} ran."),
    ):
        if n:
            words = {"them": "them", "they": "they", "were": "were"}
            words = words if n > 1 else {"them": "it", "they": "it", "were": "was"}
            verb = "runs are" if n > 1 else "run is"
            sentences.append(f"{n} {verb} {text.format(**words)}")
    if len(result.charts) > _MOST_CHARTS:
        hidden = len(result.charts) - _MOST_CHARTS
        sentences.append(f"{hidden} more charts are not shown: filter by workload.")
    sentences += [f"{folder} is not in the history: {text}" for folder, text in problems]
    return sentences


def _nothing_recorded() -> None:
    st.html(
        "<div class=fs-empty><p class=fs-sub>A trend needs captures of your own: each one is "
        "kept here with its numbers, and the second of the same workload makes the first line."
        "<br>On a command line: <code>python -m profiler_core runs import FOLDER</code></p></div>"
    )
