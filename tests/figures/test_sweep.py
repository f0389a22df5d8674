"""The pictures of a sweep: what is drawn where."""

import math

import pytest

from profiler_core.figures.sweep.axis import value_axis, x_position
from profiler_core.figures.sweep.measure import MEASURES, has_values, measure_figure
from profiler_core.figures.sweep.speedup import speedup_figure
from profiler_core.figures.theme import LIGHT
from tests.analysis.sweep.made_up import FAILED, sweep

STEP, SAMPLES, TOKENS, MEMORY, COMPILE = MEASURES
TABLE = {
    1: {"eager": 100, "default": 200},
    8: {"eager": 100, "default": 110},
    64: {"eager": 900, "default": 300},
    512: {"eager": FAILED, "default": FAILED},
}


def named(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


def marks_of_failures(figure):
    return [trace for trace in figure.data if trace.yaxis == "y2"]


def test_values_lie_on_a_logarithmic_axis_with_their_own_ticks():
    made = sweep(TABLE)
    axis = value_axis(made)
    assert axis["tickvals"] == pytest.approx([0, math.log10(8), math.log10(64), math.log10(512)])
    assert list(axis["ticktext"]) == ["1", "8", "64", "512"]
    assert axis["title"]["text"] == "batch size"


def test_what_failed_far_away_does_not_press_the_rest_together():
    made = sweep({**TABLE, 10**12: {"eager": FAILED, "default": FAILED}})
    places = [x_position(made, point) for point in made.points]
    assert places[-1] - places[-2] == pytest.approx(math.log10(8))
    assert places == sorted(places)


def test_the_speed_up_has_intervals_and_a_full_mark_where_it_pays():
    made = sweep(TABLE)
    trace = named(speedup_figure(made, LIGHT), "default")
    assert list(trace.y) == pytest.approx([0.5, 100 / 110, 3.0])
    assert all(length >= 0 for length in (*trace.error_y.array, *trace.error_y.arrayminus))
    assert list(trace.marker.color) == [LIGHT.surface, LIGHT.surface, LIGHT.run(1)]


def test_the_crossing_is_marked_between_its_neighbours():
    made = sweep(TABLE)
    figure = speedup_figure(made, LIGHT)
    (at,) = [shape.x0 for shape in figure.layout.shapes if shape.x0 == shape.x1]
    assert math.log10(8) < at < math.log10(64)
    assert at == pytest.approx(math.log10(made.series[0].crossing.at))
    assert any("default passes 1 at about" in note.text for note in figure.layout.annotations)


def test_a_failed_point_is_a_mark_with_its_reason():
    made = sweep(TABLE)
    (marks,) = marks_of_failures(speedup_figure(made, LIGHT))
    assert list(marks.x) == pytest.approx([math.log10(512)])
    assert [text.strip() for text in marks.text] == ["out of memory"]
    assert "Out of memory in the first call" in marks.hovertext[0]
    assert marks_of_failures(measure_figure(made, STEP, LIGHT))
    one = sweep({1: {"eager": 10, "a": 5}, 2: {"eager": FAILED, "a": 5}})
    (marks,) = marks_of_failures(speedup_figure(one, LIGHT))
    assert [text.strip() for text in marks.text] == ["1 of 2 out of memory"]
    without = sweep({1: TABLE[1], 8: TABLE[8]})
    assert marks_of_failures(speedup_figure(without, LIGHT)) == []


def test_each_variant_has_a_line_and_gaps_stay_gaps():
    made = sweep(TABLE)
    figure = measure_figure(made, STEP, LIGHT)
    eager, default = figure.data[0], figure.data[1]
    assert len(eager.x) == len(default.x) == 3
    assert list(eager.y) == pytest.approx([100_450, 100_450, 904_050], rel=1e-3)


def test_the_axis_is_logarithmic_only_where_the_values_span_enough():
    wide = measure_figure(
        sweep({1: {"eager": 10, "a": 10}, 8: {"eager": 900, "a": 300}}), STEP, LIGHT
    )
    narrow = measure_figure(
        sweep({1: {"eager": 10, "a": 10}, 8: {"eager": 20, "a": 15}}), STEP, LIGHT
    )
    assert wide.layout.yaxis.type == "log"
    assert narrow.layout.yaxis.type is None
    assert narrow.layout.yaxis.range[0] == 0
    assert narrow.layout.yaxis.ticktext[0] == "0"
    assert all(text.endswith("µs") for text in narrow.layout.yaxis.ticktext[1:])


def test_measures_that_nobody_has_are_left_out():
    made = sweep(TABLE)
    assert [has_values(made, measure) for measure in MEASURES] == [True, True, False, False, False]
    assert has_values(sweep({1: TABLE[1]}, first_call_ns=10**9), COMPILE)
    assert has_values(sweep({1: TABLE[1]}, peak_reserved_bytes=10**9), MEMORY)
    assert not has_values(sweep({"fp32": TABLE[1]}, name="precision", label="precision"), SAMPLES)


def test_words_get_marks_and_bars_without_a_line():
    made = sweep(
        {"fp32": {"eager": 10, "a": 20}, "bf16": {"eager": 20, "a": 10}},
        name="precision", label="precision",
    )  # fmt: skip
    assert named(speedup_figure(made, LIGHT), "a").mode == "markers"
    assert [trace.type for trace in measure_figure(made, STEP, LIGHT).data] == ["bar", "bar"]
    assert list(value_axis(made)["tickvals"]) == [0.0, 1.0]


def test_names_from_files_are_never_markup():
    made = sweep({"<b>x</b>": {"eager": 10, "<i>a</i>": 20}, "y": {"eager": 1, "<i>a</i>": 2}})
    for figure in (speedup_figure(made, LIGHT), measure_figure(made, STEP, LIGHT)):
        text = str(figure.to_dict())
        assert "<i>a" not in text
        assert "<b>x" not in text
