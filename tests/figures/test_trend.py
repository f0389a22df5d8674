"""The figure of a trend shows every run, joined as the analysis says, and hides nothing."""

from dataclasses import replace

import pytest

from profiler_core.analysis.trend import trend
from profiler_core.figures.theme import DARK, LIGHT
from profiler_core.figures.trend import format_metric, trend_figure, trend_legend
from profiler_core.model.history import METRICS, HeadlineMetrics
from tests.analysis.test_trend import recorded, slower


def chart_of(runs, metric="step_time_ns"):
    (chart,) = trend(runs, metric).charts
    return chart


def lines_of(figure):
    return [trace for trace in figure.data if trace.customdata is not None]


@pytest.mark.parametrize("order", ["time", "run"])
def test_each_run_is_a_point_that_knows_its_run(order):
    runs = [recorded(variant=v, n=n) for n in range(3) for v in ("eager", "default")]
    chart = chart_of(runs)
    figure = trend_figure(chart, "step_time_ns", LIGHT, order=order)
    drawn = {run_id for line in lines_of(figure) for run_id in line.customdata}
    assert drawn == {run.run_id for run in runs}
    assert [name for name, _ in trend_legend(chart, LIGHT)] == ["eager", "default"]


def test_runs_of_one_capture_stand_at_one_place():
    runs = [recorded(variant=v, n=n) for n in range(2) for v in ("eager", "default")]
    figure = trend_figure(chart_of(runs), "step_time_ns", DARK, order="run")
    assert [tuple(line.x) for line in lines_of(figure)] == [(0, 1), (0, 1)]


def test_a_change_is_marked_once_for_all_lines():
    new = {"environment": {"torch": "2.12.0"}}
    runs = [recorded(variant=v) for v in ("eager", "default")]
    runs += [recorded(variant=v, n=1, **new) for v in ("eager", "default")]
    figure = trend_figure(chart_of(runs), "step_time_ns", LIGHT, order="time")
    assert len(figure.layout.shapes) == 1
    assert [note.text for note in figure.layout.annotations] == ["torch 2.12.0"]
    assert {line.marker.symbol for line in lines_of(figure)} == {("circle", "diamond")}


def test_what_changed_twice_in_a_minute_is_written_once():
    versions = ("2.11.0", "2.12.0", "2.13.0")
    runs = [
        replace(
            recorded(n=n, environment={"torch": version}),
            created_at=f"2026-11-{1 + 26 * (n > 0):02}T10:0{n}:00+00:00",
        )
        for n, version in enumerate(versions)
    ]
    figure = trend_figure(chart_of(runs), "step_time_ns", LIGHT, order="time")
    assert len(figure.layout.shapes) == 2
    assert [note.text for note in figure.layout.annotations] == ["torch 2.12.0"]


@pytest.mark.parametrize(
    ("later", "written"),
    [
        ("2026-11-21T10:00:05+00:00", "%H:%M:%S\n%-d %b %Y"),
        ("2026-11-21T19:00:00+00:00", "%H:%M\n%-d %b %Y"),
        ("2026-11-28T10:00:00+00:00", "%-d %b"),
    ],
)
def test_times_of_a_day_and_days_are_written_alike(later, written):
    """Plotly's own way is "Nov 21, 2026"."""
    first = replace(recorded(n=0), created_at="2026-11-21T10:00:00+00:00")
    runs = [first, replace(recorded(n=1), created_at=later)]
    figure = trend_figure(chart_of(runs), "step_time_ns", LIGHT, order="time")
    assert figure.layout.xaxis.tickformat == written


@pytest.mark.parametrize(("day", "dtick"), [("24", 86_400_000), ("28", 86_400_000), ("30", None)])
def test_a_day_is_named_once_on_the_axis(day, dtick):
    first = replace(recorded(n=0), created_at="2026-11-21T10:00:00+00:00")
    runs = [first, replace(recorded(n=1), created_at=f"2026-11-{day}T11:00:00+00:00")]
    figure = trend_figure(chart_of(runs), "step_time_ns", LIGHT, order="time")
    assert figure.layout.xaxis.dtick == dtick


def test_a_shift_beyond_the_noise_is_written_at_its_point():
    runs = [recorded(n=0), slower(recorded(n=1), 1.07)]
    figure = trend_figure(chart_of(runs), "step_time_ns", LIGHT, order="time")
    assert [note.text for note in figure.layout.annotations] == ["+7 %"]


def test_the_line_of_a_change_does_not_strike_a_shift_through():
    """A dotted line "torch 2.12.0" ran through the "−8 %" of the same run."""
    moved = slower(recorded(n=1, environment={"torch": "2.12.0"}), 1.07)
    figure = trend_figure(chart_of([recorded(n=0), moved]), "step_time_ns", LIGHT, order="time")
    assert {note.text: note.bgcolor for note in figure.layout.annotations} == {
        "+7 %": LIGHT.surface, "torch 2.12.0": None,
    }  # fmt: skip


def test_the_commit_stands_below_a_shift():
    after = replace(slower(recorded(n=1), 1.07), git_commit="<b>abcdef0123")
    figure = trend_figure(chart_of([recorded(n=0), after]), "step_time_ns", LIGHT, order="time")
    (note,) = figure.layout.annotations
    assert note.text == "+7 %<br>&lt;b&gt;abcd"


def test_labels_that_would_overlap_leave_the_largest_change_its_own():
    """Two runs of a minute among those of a month: their labels were written over each other."""
    days = [f"2026-11-{day:02}T10:00:00+00:00" for day in (1, 27, 28)]
    runs = [
        slower(replace(recorded(n=0), created_at=days[0]), 1.0),
        slower(replace(recorded(n=1), created_at=days[1]), 1.2),
        slower(replace(recorded(n=2), created_at=days[1].replace("10:00", "10:01")), 1.27),
        slower(replace(recorded(n=3), created_at=days[2]), 2.0),
    ]
    by_time = trend_figure(chart_of(runs), "step_time_ns", LIGHT, order="time")
    texts = [note.text.split("<br>")[0] for note in by_time.layout.annotations]
    assert texts == ["+57 %", "+20 %"]
    by_run = trend_figure(chart_of(runs), "step_time_ns", LIGHT, order="run")
    assert len(by_run.layout.annotations) == 3


def test_the_chosen_point_has_a_ring():
    runs = [recorded(n=0), recorded(n=1)]
    figure = trend_figure(chart_of(runs), "step_time_ns", LIGHT, order="run", chosen=runs[1].run_id)
    (ring,) = [trace for trace in figure.data if trace.marker.symbol == "circle-open"]
    assert tuple(ring.x) == (1,)


def test_names_of_files_are_no_markup():
    run = recorded(workload="<img src=x>", environment={"torch": "<b>2</b>"})
    hover = lines_of(trend_figure(chart_of([run]), "step_time_ns", LIGHT, order="time"))[0]
    assert "<img" not in hover.hovertext[0]


@pytest.mark.parametrize("metric", METRICS)
def test_every_number_can_be_drawn_zero_included(metric):
    runs = [recorded(n=n, metrics=HeadlineMetrics(**{metric: v})) for n, v in ((0, 0.0), (1, 2.5))]
    figure = trend_figure(chart_of(runs, metric), metric, LIGHT, order="time")
    low, high = figure.layout.yaxis.range
    assert low <= 0 < high
    assert format_metric(metric, None) == "–"
