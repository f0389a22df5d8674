"""How long a step takes, and whether two runs differ in it.

Step time is the wall time of a round over its steps, the median over the rounds. The ratio
baseline / candidate carries a bootstrap interval where there are rounds to draw from; CUDA-event
times of single steps within one round share its clocks, caches and temperature, so they show the
jitter and are no repeats.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from profiler_core.model.run import Measurement, Round

Clock = Literal["unprofiled", "profiled"]

# Below this many rounds resampling cannot show the spread: the interval of two or three values
# is those values. Captures make 20 rounds and never fewer than 10.
MIN_ROUNDS = 5
_N_RESAMPLES = 2000
_CONFIDENCE = 0.95
_SEED = 0  # the same files give the same interval


@dataclass(frozen=True)
class StepTime:
    """Step times of a baseline and a candidate, on the same clock.

    ratio > 1 means that the candidate is faster. interval and significant are None where there
    are no repeats to judge by; significant is whether the interval leaves 1 out.
    """

    baseline_ns: int | None
    candidate_ns: int | None
    ratio: float | None
    interval: tuple[float, float] | None
    significant: bool | None
    clock: Clock | None  # "profiled": the window of the trace over its steps
    n_rounds: tuple[int, int]
    n_steps: tuple[int, int]  # timed (or, on the profiled clock, recorded) steps
    paired: bool  # the interval draws the same interleaved rounds on both sides


@dataclass(frozen=True)
class Jitter:
    """Spread of single steps, ns: quartiles of the CUDA-event times."""

    n: int
    p25_ns: int
    median_ns: int
    p75_ns: int
    p95_ns: int


def step_time_ns(measurement: Measurement | None) -> float | None:
    """Median over the rounds of wall time per step, unprofiled; None without rounds."""
    per_step = [_per_step(r) for r in _rounds(measurement)]
    return float(np.median(per_step)) if per_step else None


def jitter(measurement: Measurement | None) -> Jitter | None:
    """How much single steps differ from each other; None where they were not timed."""
    times = measurement.step_event_ns if measurement else ()
    if not times:
        return None
    p25, median, p75, p95 = np.percentile(times, [25, 50, 75, 95])
    return Jitter(len(times), round(p25), round(median), round(p75), round(p95))


def compare_unprofiled(
    baseline: Measurement, candidate: Measurement, *, interleaved: bool
) -> StepTime | None:
    """Both step times from their rounds; None where one of the runs has none.

    Args:
        baseline: as recorded.
        candidate: as recorded.
        interleaved: the two were timed in turns, so rounds of one index share their conditions.
    """
    baseline_rounds, candidate_rounds = _rounds(baseline), _rounds(candidate)
    if not baseline_rounds or not candidate_rounds:
        return None
    ratio = _median_ratio(baseline_rounds, candidate_rounds)
    interval, paired = _interval(baseline_rounds, candidate_rounds, interleaved=interleaved)
    return StepTime(
        baseline_ns=round(float(np.median([_per_step(r) for r in baseline_rounds]))),
        candidate_ns=round(float(np.median([_per_step(r) for r in candidate_rounds]))),
        ratio=ratio,
        interval=interval,
        significant=None if interval is None else not interval[0] <= 1 <= interval[1],
        clock="unprofiled",
        n_rounds=(len(baseline_rounds), len(candidate_rounds)),
        n_steps=(sum(r.n_steps for r in baseline_rounds), sum(r.n_steps for r in candidate_rounds)),
        paired=paired,
    )


def only_baseline(baseline: Measurement | None) -> StepTime | None:
    """The step time of a baseline whose candidate has none; None where it was not timed either."""
    time_ns, rounds = step_time_ns(baseline), _rounds(baseline)
    if time_ns is None:
        return None
    return StepTime(
        baseline_ns=round(time_ns),
        candidate_ns=None,
        ratio=None,
        interval=None,
        significant=None,
        clock="unprofiled",
        n_rounds=(len(rounds), 0),
        n_steps=(sum(r.n_steps for r in rounds), 0),
        paired=False,
    )


def compare_profiled(
    baseline_ns: float | None, candidate_ns: float | None, n_steps: tuple[int, int]
) -> StepTime:
    """Both step times on the clock of the profiler: one value a side, so never a judgement."""
    both_known = baseline_ns is not None and candidate_ns is not None
    return StepTime(
        baseline_ns=None if baseline_ns is None else round(baseline_ns),
        candidate_ns=None if candidate_ns is None else round(candidate_ns),
        ratio=baseline_ns / candidate_ns if both_known and baseline_ns and candidate_ns else None,
        interval=None,
        significant=None,
        clock="profiled" if both_known else None,
        n_rounds=(0, 0),
        n_steps=n_steps,
        paired=False,
    )


def _rounds(measurement: Measurement | None) -> list[Round]:
    rounds = measurement.rounds if measurement else ()
    return [r for r in rounds if r.n_steps > 0 and r.wall_ns > 0]


def _per_step(measured_round: Round) -> float:
    return measured_round.wall_ns / measured_round.n_steps


def _median_ratio(baseline_rounds: list[Round], candidate_rounds: list[Round]) -> float:
    return float(
        np.median([_per_step(r) for r in baseline_rounds])
        / np.median([_per_step(r) for r in candidate_rounds])
    )


def _interval(
    baseline_rounds: list[Round], candidate_rounds: list[Round], *, interleaved: bool
) -> tuple[tuple[float, float] | None, bool]:
    """(95 % percentile bootstrap interval of the ratio of medians, whether it was paired)."""
    by_index = {r.index: _per_step(r) for r in candidate_rounds}
    pairs = [(_per_step(r), by_index[r.index]) for r in baseline_rounds if r.index in by_index]
    random = np.random.default_rng(_SEED)
    if interleaved and len(pairs) >= MIN_ROUNDS:
        # A drift of the clock hits both sides of a turn alike, so turns are drawn whole.
        paired_times = np.array(pairs)
        draws = random.integers(0, len(paired_times), (_N_RESAMPLES, len(paired_times)))
        ratios = np.median(paired_times[draws, 0], axis=1) / np.median(
            paired_times[draws, 1], axis=1
        )
        return _percentiles(ratios), True
    if min(len(baseline_rounds), len(candidate_rounds)) < MIN_ROUNDS:
        return None, False
    sides = []
    for rounds in (baseline_rounds, candidate_rounds):
        times = np.array([_per_step(r) for r in rounds])
        draws = random.integers(0, len(times), (_N_RESAMPLES, len(times)))
        sides.append(np.median(times[draws], axis=1))
    return _percentiles(sides[0] / sides[1]), False


def _percentiles(ratios: npt.NDArray[np.float64]) -> tuple[float, float]:
    tail = (1 - _CONFIDENCE) / 2 * 100
    low, high = np.percentile(ratios, [tail, 100 - tail])
    return float(low), float(high)
