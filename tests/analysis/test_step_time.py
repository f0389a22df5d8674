import pytest

from profiler_core.analysis.noise import MIN_ROUNDS
from profiler_core.analysis.step_time import (
    compare_profiled,
    compare_unprofiled,
    jitter,
    step_time_ns,
)
from tests.builders import a_run


def measured(*walls, **more):
    return a_run(*walls, **more).record.measurement


def test_step_time_is_the_median_over_the_rounds():
    assert step_time_ns(measured(1_000, 1_010, 9_000, n_steps=10)) == 101


def test_without_rounds_there_is_no_step_time():
    assert step_time_ns(None) is None
    assert step_time_ns(measured(step_event_ns=(5, 6))) is None


def test_twenty_steady_rounds_give_a_narrow_interval_without_one():
    slow = [1_000 + i % 3 for i in range(20)]
    fast = [500 + i % 2 for i in range(20)]
    ratio = compare_unprofiled(measured(*slow), measured(*fast), interleaved=True)
    assert ratio.ratio == pytest.approx(2.0, abs=0.01)
    assert ratio.interval[0] <= ratio.ratio <= ratio.interval[1]
    assert ratio.interval[1] - ratio.interval[0] < 0.09  # two processes on a CPU
    assert (ratio.significant, ratio.paired, ratio.clock) == (True, True, "unprofiled")
    assert (ratio.n_rounds, ratio.n_steps) == ((20, 20), (200, 200))


def test_a_slowdown_is_significant_too():
    slow = compare_unprofiled(measured(*[500] * 20), measured(*[1_000] * 20), interleaved=True)
    assert slow.significant is True
    assert slow.interval == pytest.approx((0.49, 0.51), abs=0.001)  # two processes on a CPU


def test_the_same_rounds_on_both_sides_are_no_difference():
    walls = [1_000 + 37 * (i * 7 % 20) for i in range(20)]
    same = compare_unprofiled(measured(*walls), measured(*walls), interleaved=True)
    assert (same.ratio, same.noise.of_rounds, same.significant) == (1.0, 0.0, False)
    apart = compare_unprofiled(measured(*walls), measured(*walls), interleaved=False)
    assert apart.interval[0] < 1 < apart.interval[1]
    assert (apart.significant, apart.paired) == (False, False)


def test_pairing_takes_a_drift_of_the_clock_out():
    drift = [1_000 + 40 * i for i in range(20)]
    candidate = [round(wall * 0.95) for wall in drift]
    paired = compare_unprofiled(measured(*drift), measured(*candidate), interleaved=True)
    apart = compare_unprofiled(measured(*drift), measured(*candidate), interleaved=False)
    assert paired.interval[1] - paired.interval[0] < (apart.interval[1] - apart.interval[0]) / 2
    assert paired.significant is True and apart.significant is False


def test_one_round_of_many_steps_is_no_repeat():
    ratio = compare_unprofiled(
        measured(1_000, step_event_ns=(100,) * 100),
        measured(500, step_event_ns=(50,) * 100),
        interleaved=True,
    )
    assert (ratio.ratio, ratio.interval, ratio.significant) == (2.0, None, None)


def test_an_interval_needs_a_few_rounds_on_both_sides():
    enough, few = [100] * MIN_ROUNDS, [100] * (MIN_ROUNDS - 1)
    assert compare_unprofiled(measured(*enough), measured(*few), interleaved=True).interval is None
    assert compare_unprofiled(measured(*enough), measured(*enough), interleaved=False).interval


def test_the_interval_is_the_same_every_time():
    first = [900 + 13 * (i * 11 % 20) for i in range(20)]
    second = [800 + 17 * (i * 3 % 20) for i in range(20)]
    intervals = {
        compare_unprofiled(measured(*first), measured(*second), interleaved=True).interval
        for _ in range(3)
    }
    assert len(intervals) == 1


def test_the_profiled_clock_never_judges():
    ratio = compare_profiled(200.4, 100.2, (5, 5))
    assert (ratio.baseline_ns, ratio.candidate_ns, ratio.clock) == (200, 100, "profiled")
    assert (ratio.ratio, ratio.interval, ratio.significant) == (2.0, None, None)
    assert compare_profiled(None, 100.0, (0, 5)).ratio is None


def test_jitter_is_the_spread_of_single_steps():
    spread = jitter(measured(1, step_event_ns=tuple(range(101))))
    assert (spread.n, spread.p25_ns, spread.median_ns, spread.p75_ns, spread.p95_ns) == (
        101,
        25,
        50,
        75,
        95,
    )
    assert jitter(measured(1_000)) is None
