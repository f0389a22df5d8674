"""Where compiling starts to pay: examples, and what holds of every series."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler_core.analysis.sweep.crossing import Judged, crossing
from profiler_core.analysis.sweep.scale import batch_of, positions

VERDICTS = ("slower", "no_difference", "faster", "wrong_numerics", "no_verdict")


def judged(*lows, x=(1, 2, 4, 8, 16, 32), width=1.2):
    """Points whose intervals go from `low` to `low × width`; the verdict follows from that."""
    points = []
    for index, (low, where) in enumerate(zip(lows, x, strict=False)):
        high = low * width
        verdict = "faster" if low > 1 else "slower" if high < 1 else "no_difference"
        points.append(Judged(index, where, verdict, math.sqrt(low * high), (low, high)))
    return points


def test_higher_values_pay():
    point = crossing(judged(0.5, 0.9, 1.2, 1.5))
    assert (point.kind, point.between) == ("from", (1, 2))
    assert point.paying == (2, 3)
    assert point.not_paying == (0, 1)
    # log 0.9 to log 1.2 passes 0 at 0.366 of the way from log 2 to log 4.
    share = math.log(1 / 0.9) / math.log(1.2 / 0.9)
    assert point.at == pytest.approx(2 * 2**share)


def test_lower_values_pay():
    point = crossing(judged(1.5, 1.1, 0.8))
    assert (point.kind, point.between) == ("until", (1, 2))
    assert 2 < point.at < 4


def test_all_and_none():
    assert crossing(judged(1.1, 1.2)).kind == "always"
    assert crossing(judged(0.5, 0.9)).kind == "never"
    assert crossing([]).kind == "unknown"


def test_up_and_down_is_no_crossing():
    point = crossing(judged(0.5, 1.2, 0.9, 1.5))
    assert (point.kind, point.between, point.at) == ("mixed", None, None)
    assert point.paying == (1, 3)


def test_what_was_not_judged_is_neither_for_nor_against():
    points = judged(0.5, 1.0, 1.2)
    points[1] = Judged(1, 2.0, "no_verdict", None, None)  # out of memory, say
    point = crossing(points)
    assert (point.kind, point.between) == ("from", (0, 2))
    assert point.paying + point.not_paying == (2, 0)


def test_a_fast_wrong_answer_does_not_pay():
    points = judged(0.5, 1.5, 1.5)
    points[1] = Judged(1, 2.0, "wrong_numerics", 1.5, (1.4, 1.6))
    point = crossing(points)
    assert (point.kind, point.between) == ("from", (1, 2))
    assert point.at is None  # the interval lies above 1 at both


def test_words_have_no_from():
    point = crossing(judged(0.5, 1.2, x=(None, None)))
    assert (point.kind, point.between, point.paying) == ("mixed", None, (1,))


@st.composite
def series(draw):
    n = draw(st.integers(1, 8))
    xs = sorted(draw(st.sets(st.integers(1, 10**9), min_size=n, max_size=n)))
    points = []
    for index, x in enumerate(xs):
        low = draw(st.floats(0.05, 20))
        high = low * draw(st.floats(1, 3))
        # A verdict need not follow from the interval: numerics and rounding have a say.
        verdict = draw(st.sampled_from(VERDICTS))
        if low <= 1 and verdict == "faster":
            verdict = "no_difference"
        points.append(Judged(index, float(x), verdict, low, (low, high)))
    return points


@settings(deadline=None)
@given(series())
def test_every_judged_point_is_on_one_side(points):
    point = crossing(points)
    indices = [p.index for p in points if p.verdict != "no_verdict"]
    assert sorted(point.paying + point.not_paying) == indices
    assert set(point.paying).isdisjoint(point.not_paying)
    assert all(points[index].pays for index in point.paying)


@settings(deadline=None)
@given(series())
def test_the_crossing_lies_between_neighbours_that_differ(points):
    point = crossing(points)
    assert (point.between is not None) == (point.kind in ("from", "until"))
    if point.between is None:
        assert point.at is None
        return
    left, right = (points[index] for index in point.between)
    assert left.x < right.x
    assert left.pays != right.pays
    between = points[left.index + 1 : right.index]
    assert all(p.verdict == "no_verdict" for p in between)
    if point.at is not None:
        assert left.x * (1 - 1e-9) <= point.at <= right.x * (1 + 1e-9)


@settings(deadline=None)
@given(series())
def test_a_kind_says_what_the_sides_are(points):
    point = crossing(points)
    if point.kind == "always":
        assert point.paying
        assert not point.not_paying
    elif point.kind == "never":
        assert point.not_paying
        assert not point.paying
    elif point.kind == "from":
        assert max(point.not_paying) < min(point.paying)
    elif point.kind == "until":
        assert max(point.paying) < min(point.not_paying)
    elif point.kind == "unknown":
        assert not point.paying + point.not_paying


@settings(deadline=None)
@given(series(), st.floats(0.001, 1000))
def test_the_unit_of_the_axis_does_not_matter(points, factor):
    scaled = [Judged(p.index, p.x * factor, p.verdict, p.ratio, p.interval) for p in points]
    ours, theirs = crossing(points), crossing(scaled)
    assert (ours.kind, ours.between) == (theirs.kind, theirs.between)
    if ours.at is not None:
        assert theirs.at == pytest.approx(ours.at * factor, rel=1e-6)


@settings(deadline=None)
@given(series())
def test_seen_from_the_other_end_from_and_until_trade_places(points):
    # 1/x turns the order around; the place is the same.
    turned = [Judged(p.index, 1 / p.x, p.verdict, p.ratio, p.interval) for p in reversed(points)]
    ours, theirs = crossing(points), crossing(turned)
    opposite = {"from": "until", "until": "from"}
    assert theirs.kind == opposite.get(ours.kind, ours.kind)
    if ours.at is not None:
        assert theirs.at == pytest.approx(1 / ours.at, rel=1e-6)


def test_numbers_and_shapes_have_a_place_words_have_none():
    assert positions([1, 8, 32]) == (1.0, 8.0, 32.0)
    assert positions([0.5, 2]) == (0.5, 2.0)
    assert positions(["2x3", "2x6"]) == (6.0, 12.0)
    assert positions(["fp32", "bf16"]) is None
    assert positions([1, "bf16"]) is None
    assert positions([0, 8]) is None  # no logarithm
    assert positions(["2x3", "3x2"]) is None  # the same size
    assert positions([float("inf"), 1]) is None


def test_the_batch_of_a_value():
    assert batch_of(8, "batch-size") == 8
    assert batch_of("8x3x224x224", "shape") == 8
    assert batch_of(8, "option.layers") is None
    assert batch_of("bf16", "precision") is None
