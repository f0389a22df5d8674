"""Telemetry drawn: built from a result without raising, axes with units, holes where none was."""

from profiler_core.analysis.telemetry.series import Line, Lines, Span
from profiler_core.figures.telemetry_live import telemetry_live
from profiler_core.figures.telemetry_series import phase_shades, telemetry_series
from profiler_core.figures.theme import LIGHT

POINTS = ((0.0, 400.0), (0.1, 410.0), (0.2, 405.0), (5.0, 90.0), (5.1, 95.0))
FOUND = Lines(
    "capture",
    "seconds since the first sample",
    (Line(0, "power", POINTS), Line(2, "power", POINTS[:1]), Line(0, "cpu", POINTS[:3])),
    (Span(0, "timing", 0.0, 0.2), Span(0, "profiled", 5.0, 5.1)),
)
LABELS = {0: "eager", 2: "<b>x</b>"}


def test_each_quantity_has_a_chart_and_each_run_its_colour():
    figure = telemetry_series(LABELS, FOUND, LIGHT)
    assert {trace.yaxis for trace in figure.data} == {"y", "y2"}
    assert figure.data[1].line.color == LIGHT.run(2)
    titles = {annotation.text for annotation in figure.layout.annotations}
    assert titles == {"Power, W", "CPU of the process, % of one core"}
    assert figure.layout.xaxis.title.text == FOUND.title
    assert figure.layout.xaxis2.matches == "x"


def test_a_pause_is_a_hole_in_the_line():
    figure = telemetry_series(LABELS, FOUND, LIGHT)
    assert list(figure.data[0].x) == [0.0, 0.1, 0.2, None, 5.0, 5.1]


def test_names_are_escaped():
    figure = telemetry_series(LABELS, FOUND, LIGHT)
    assert all("<b>" not in (trace.hovertemplate or "") for trace in figure.data)


def test_phases_are_shaded_and_named():
    figure = telemetry_series(LABELS, FOUND, LIGHT)
    assert len(figure.layout.shapes) == 4  # two phases in two charts
    assert phase_shades(FOUND) == "Shaded, from light to dark: timed rounds, profiled steps."
    assert phase_shades(Lines("steady", "s", FOUND.lines, ())) == ""


def test_one_gpu_live():
    figure = telemetry_live([(10.0, 50.0, 300.0), (11.0, None, 310.0)], LIGHT)
    assert list(figure.data[0].x) == [-1.0, 0.0]
    assert figure.layout.yaxis2.title.text == "power, W"
