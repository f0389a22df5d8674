"""Trends: one chart for each workload, a line for each variant; a click opens a run."""

from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from profiler_core.analysis.trend import TrendChart, TrendPoint, trend
from profiler_core.analysis.wording.first_lines import trends_line
from profiler_core.dates import minute
from profiler_core.figures.template import CONFIG
from profiler_core.figures.trend import Order, format_metric, trend_figure, trend_legend
from profiler_core.session.cache import SHARED
from profiler_core.store import history
from profiler_core.ui.charts import show_legend
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import FirstLine
from profiler_core.ui.paging import choose_page
from profiler_core.ui.runs.chosen_point import CHOSEN, show_chosen_point
from profiler_core.ui.runs.keeping import bring_up_to_date
from profiler_core.ui.runs.regressions import show_regressions
from profiler_core.ui.runs.trend_filters import METRICS, choose_filters, choose_metric
from profiler_core.ui.style import colors
from profiler_core.ui.table import foreign_text

_CHARTS = 4  # of a page
_TABLE_ROWS = 50  # of a page


def show_trends(first_line: FirstLine) -> None:
    """Draw all of it.

    Args:
        first_line: of the page, which says whether anything became slower.
    """
    problems = bring_up_to_date()
    now = history.version()
    n_runs = SHARED.get(("n_runs", *now), history.n_runs)
    if n_runs == 0:
        _nothing_recorded()
        return
    n_lines = SHARED.get(("n_lines", *now), history.n_lines_of_several)
    first_line.answer(trends_line(n_runs, n_lines, show_regressions()))
    filters = choose_filters()
    metric, order, since = choose_metric()
    filters = replace(filters, since=since)
    asked = ("charts", *now, filters, metric)
    charts = SHARED.get(
        asked,
        lambda: history.lasting(asked, history.Charts, lambda: history.charts(filters, metric)),
    )
    if not charts.questions:
        st.html("<p class=fs-note>No finished run fits these filters and has this number.</p>")
    below = st.container()
    n_pages = -(-len(charts.questions) // _CHARTS)
    first = (choose_page("charts", n_pages) - 1) * _CHARTS
    with below:
        reduced = [
            _show_chart(question.digest, filters, metric, order, number, now)
            for number, question in enumerate(charts.questions[first : first + _CHARTS])
        ]
    show_notes(_sentences(charts, metric, any(reduced), problems))


def _show_chart(
    question: str,
    filters: history.RunFilter,
    metric: str,
    order: Order,
    number: int,
    now: tuple[object, ...],
) -> bool:
    """Draw one; True: not every run of it is a point."""
    chosen = st.query_params.get(CHOSEN)
    asked = ("points", *now, filters, metric, question, chosen)
    points = SHARED.get(
        asked,
        lambda: history.lasting(
            asked,
            history.Drawn,
            lambda: history.drawn(filters, metric, question, also=chosen),
        ),
    )
    of_points = ("trend", points.version)
    chart = SHARED.get(
        of_points,
        lambda: history.lasting(of_points, TrendChart, lambda: _chart(points, metric)),
    )
    if chart is None:  # deleted since
        return False
    facts = " · ".join(escape(fact) for fact in chart.facts)
    st.html(f"<h2 class=fs-h>{escape(chart.workload)}</h2><p class=fs-question>{facts}</p>")
    palette = colors()
    show_legend(trend_legend(chart, palette))
    key = f"fs_trend_{number}"
    st.plotly_chart(
        SHARED.get(
            ("trend figure", points.version, str(palette), order, chosen),
            lambda: trend_figure(chart, metric, palette, order=order, chosen=chosen),
        ),
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
    is_reduced = len(points.run_ids) < points.n_runs
    if is_reduced:
        st.html(
            f"<p class=fs-note>{len(points.run_ids):,} of {points.n_runs:,} runs are drawn: the "
            "highest and lowest of each stretch of time. A shorter period draws more of them.</p>"
        )
    if st.toggle("Every run as a table", key=f"fs_trend_table_{question}"):
        _show_table(question, filters, metric, points.n_runs)
    return is_reduced


def _chart(points: history.Drawn, metric: str) -> TrendChart | None:
    runs, before = points.runs()
    return next(iter(trend(runs, metric, before).charts), None)


def _show_table(question: str, filters: history.RunFilter, metric: str, n_runs: int) -> None:
    below = st.container()
    page = choose_page(f"rows_{question}", -(-n_runs // _TABLE_ROWS))
    offset = (page - 1) * _TABLE_ROWS
    rows = history.trend_rows(filters, metric, question, offset=offset, limit=_TABLE_ROWS)
    names = history.names_of({row.person for row in rows})
    with below:
        st.dataframe(
            foreign_text(
                {
                    "When (UTC)": [minute(row.created_at) for row in rows],
                    "Variant": [row.variant for row in rows],
                    METRICS[metric]: [format_metric(metric, row.value) for row in rows],
                    "torch": [row.torch for row in rows],
                    "Commit": [row.git_commit[:10] for row in rows],
                    "By": [names[row.person] for row in rows],
                    "Run": [row.run_id for row in rows],
                }
            ),
            hide_index=True,
        )


def _from_chart(key: str) -> None:
    points: list[Any] = st.session_state[key]["selection"]["points"]
    data = points[0].get("customdata") if points else None
    run_id = data[0] if isinstance(data, list | tuple) and data else data
    if run_id:
        st.query_params[CHOSEN] = str(run_id)


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


def _sentences(
    charts: history.Charts,
    metric: str,
    is_reduced: bool,
    problems: tuple[tuple[str, str], ...],
) -> list[str]:
    sentences = []
    if metric == "step_time_ns" and charts.questions:
        sentences.append(
            "The band around a line holds 90 % of a run's timed rounds. A diamond and a dotted "
            "line mark a run around which something else changed: torch, the driver, the clocks. "
            "A percentage is shown where a run changed by more than the spread of its rounds."
        )
    if is_reduced:
        sentences.append(
            f"A line of more than {history.MOST_POINTS} runs is drawn with fewer points; "
            "changes are against the run before, whether that one is drawn or not."
        )
    for n, text in (
        (charts.n_without_number, "not drawn: this number was not measured for {them}."),
        (charts.n_unfinished, "not drawn: {they} failed, or {were} stopped."),
        (charts.n_without_workload, "not drawn: the workload of {them} is unknown."),
        (charts.n_trials, "not drawn: {they} tried a setting of an experiment."),
    ):
        if n:
            words = {"them": "them", "they": "they", "were": "were"}
            words = words if n > 1 else {"them": "it", "they": "it", "were": "was"}
            verb = "runs are" if n > 1 else "run is"
            sentences.append(f"{n} {verb} {text.format(**words)}")
    sentences += [f"{folder} is not in the history: {text}" for folder, text in problems]
    return sentences


def _nothing_recorded() -> None:
    st.html(
        "<div class=fs-empty><p class=fs-sub>A trend needs captures of your own: each one is "
        "kept here with its numbers, and the second of the same workload makes the first line."
        "<br>On a command line: <code>python -m profiler_core runs import FOLDER</code></p></div>"
    )
