"""What a sweep says of points that show no gain."""

from dataclasses import replace

from profiler_core.analysis.sweep.series import Sweep
from profiler_core.analysis.wording.sweep import evidence, without_speedup
from tests.analysis.sweep.made_up import FAILED, sweep


def with_interval(made: Sweep, index: int, interval: tuple[float, float]) -> Sweep:
    """The same, with another interval for the only candidate of one point."""
    points = list(made.points)
    base, one = points[index].variants
    points[index] = replace(
        points[index], variants=(base, replace(one, interval=interval, verdict="cannot_be_told"))
    )
    return replace(made, points=tuple(points))


def test_a_point_with_a_wide_interval_is_not_said_to_make_no_difference():
    made = sweep(
        {
            1: {"eager": 10, "default": 10},
            2: {"eager": 10, "default": 10},
            4: {"eager": 20, "default": 10},
        }
    )
    assert "It makes no difference at 1 and 2." in evidence(made, made.series[0])
    wide = with_interval(made, 0, (0.51, 2.65))
    assert "It could be faster or slower at 1, and makes no difference at 2." in evidence(
        wide, wide.series[0]
    )


def test_a_sweep_without_any_ratio_says_that_there_is_none():
    made = sweep({1: {"eager": FAILED, "default": 10}, 2: {"eager": 10, "default": FAILED}})
    assert without_speedup(made) == (
        "There is none to draw: at no batch size were eager and another variant both timed."
    )
