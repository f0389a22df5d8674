"""The bars float from the baseline's step to the candidate's, and lose nothing on the way."""

from dataclasses import replace

import pytest

from profiler_core.analysis.unprofiled_idle import AssumedPace
from profiler_core.analysis.waterfall import Waterfall, WaterfallRow
from profiler_core.figures.theme import DARK, LIGHT
from profiler_core.figures.waterfall import bars, waterfall_figure
from tests.figures.results import HOSTILE

LABELS = ("eager", "default")
ROWS = (
    WaterfallRow("gemm_conv", "matrix products", 2_000_000, 1_500_000),
    WaterfallRow("attention", "attention", 400_000, 400_000),
    WaterfallRow("pointwise", "pointwise", 2_500_001, 800_000),
    WaterfallRow("copy", "copies", 1_000, 4_000),
    WaterfallRow("overlap", "hidden by overlap", -500, -2_500),
    WaterfallRow("idle_host_guards", "idle: guards", 98_999, 399_000, estimated=True),
)
RESULT = Waterfall(ROWS, 4_999_500, 3_100_500, "unprofiled")


def test_each_bar_begins_where_the_one_before_ended():
    drawn = bars(RESULT, LABELS)
    first, *changes, last = drawn
    assert (first.end_ns, last.end_ns) == (RESULT.baseline_ns, RESULT.candidate_ns)
    assert first.start_ns == last.start_ns == 0
    at = first.end_ns
    for bar in changes:
        assert bar.start_ns == at
        assert bar.end_ns - bar.start_ns == bar.sides_ns[1] - bar.sides_ns[0]
        at = bar.end_ns
    assert at == RESULT.candidate_ns


def test_what_did_not_change_is_left_out_and_small_changes_are_one_bar():
    labels = [bar.label for bar in bars(RESULT, LABELS)]
    assert labels == [
        "eager", "matrix products", "pointwise", "idle: guards", "2 smaller changes", "default",
    ]  # fmt: skip
    small = bars(RESULT, LABELS)[4]
    assert small.sides_ns == (500, 1_500)


def test_a_bar_says_what_its_estimate_rests_on():
    """ "Split in proportion to the profiled step" is not what an assumed pause is."""
    pace = AssumedPace(36_100.0, 311.6, 1_024.0, is_cut=False)
    assumed = WaterfallRow(
        "idle_between_kernels", "idle: between kernels", 355_000, 0, True, paces=(pace, None)
    )
    measured = replace(assumed, key="overlap", label="overlap", estimated=False, paces=())
    divided = replace(measured, key="idle_host_other", label="idle: other", estimated=True)
    result = Waterfall((assumed, measured, divided), 1_065_000, 0, "unprofiled")
    _, *drawn, _ = bars(result, LABELS)
    assert [(bar.estimated, bar.how) for bar in drawn] == [
        (True, ("assumed: the device's own pause in each gap between kernels",)),
        (False, ()),
        (True, ("split in proportion to the profiled step",)),
    ]
    texts = waterfall_figure(result, LABELS, LIGHT).data[1].hovertext
    assert sum("own pause" in text for text in texts) == 1


@pytest.mark.parametrize(
    ("rows", "n_below"),
    [
        (ROWS, 0),
        # As of an engine on a CPU: its operators ran beside each other, and its calls are late.
        ((WaterfallRow("gemm_conv", "matrix products", 9_000_000, 2_000_000),
          WaterfallRow("clocks", "beyond the unprofiled step", -4_000_500, 1_100_500)), 1),
    ],
)  # fmt: skip
def test_every_bar_lies_on_its_axis(rows, n_below):
    figure = waterfall_figure(Waterfall(rows, 4_999_500, 3_100_500, "unprofiled"), LABELS, LIGHT)
    trace, whole = figure.data
    low, high = figure.layout.xaxis.range
    ends = [(base, base + x) for base, x in zip(trace.base, trace.x, strict=True)]
    assert low == pytest.approx(min(0, *(min(pair) for pair in ends)))
    assert high == pytest.approx(max(max(pair) for pair in ends))
    assert sum(min(pair) < 0 for pair in ends) == 2 * n_below
    assert whole.base == low  # clicks go to the whole row
    assert list(whole.x) == [pytest.approx(high - low)] * len(trace.x)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_say_the_direction_and_hatching_says_estimated(palette):
    figure = waterfall_figure(RESULT, LABELS, palette)
    trace, rows = figure.data
    assert [data[0] for data in rows.customdata] == [
        "", "gemm_conv", "pointwise", "idle_host_guards", "copy", "",
    ]  # fmt: skip
    assert list(trace.marker.color) == [
        palette.run(0), palette.better, palette.better, palette.worse, palette.worse,
        palette.run(1),
    ]  # fmt: skip
    assert [bool(shape) for shape in trace.marker.pattern.shape] == [False] * 3 + [True] + [
        False
    ] * 2
    drawn_ms = [base + x for base, x in zip(trace.base, trace.x, strict=True)]
    assert drawn_ms[-1] == pytest.approx(3.1005)
    assert drawn_ms[-2] == pytest.approx(3.1005)
    assert figure.layout.xaxis.title.text == "one step, ms"
    texts = [annotation.text for annotation in figure.layout.annotations]
    assert any(text.startswith("≈ +300 µs") for text in texts)
    assert sum(text.startswith("≈") for text in texts) == 1


def test_two_equal_steps_are_two_bars():
    rows = (WaterfallRow("gemm_conv", "matrix products", 800, 800),)
    result = Waterfall(rows, 800, 800, "profiled")
    assert [bar.total for bar in bars(result, LABELS)] == [0, 1]
    assert waterfall_figure(result, LABELS, LIGHT).layout.xaxis.title.text == "one step, ns"


def test_an_empty_step_is_drawn():
    waterfall_figure(Waterfall((), 0, 0, "profiled"), LABELS, LIGHT)


def test_labels_are_never_markup():
    figure = waterfall_figure(RESULT, (HOSTILE, "default"), LIGHT)
    assert "<img" not in figure.to_json().replace("\\u003c", "<")
