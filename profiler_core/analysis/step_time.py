"""How long a step takes, and whether two runs differ in it.

Step time is the wall time of a round over its steps, the median over the rounds. The ratio
baseline / candidate carries an interval where there are rounds to make it of (`noise`);
CUDA-event times of single steps within one round share its clocks, caches and temperature, so
they show the jitter and are no repeats.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np

from profiler_core.analysis.noise import Noise, noisy_ratio, per_step, rounds_of
from profiler_core.model.run import Measurement, RunRecord

Clock = Literal["unprofiled", "profiled"]


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
    noise: Noise | None = None  # what makes the interval as wide as it is; None: there is none


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
    times = [per_step(r) for r in rounds_of(measurement)]
    return float(median(times)) if times else None


def jitter(measurement: Measurement | None) -> Jitter | None:
    """How much single steps differ from each other; None where they were not timed."""
    times = measurement.step_event_ns if measurement else ()
    if not times:
        return None
    p25, median, p75, p95 = np.percentile(times, [25, 50, 75, 95])
    return Jitter(len(times), round(p25), round(median), round(p75), round(p95))


def compare_unprofiled(
    baseline: Measurement,
    candidate: Measurement,
    *,
    interleaved: bool,
    on_gpu: bool = False,
    repeats: Sequence[Measurement] = (),
) -> StepTime | None:
    """Both step times from their rounds; None where one of the runs has none.

    Args:
        baseline: as recorded.
        candidate: as recorded.
        interleaved: the two were timed in turns, so rounds of one index share their conditions.
        on_gpu: both computed on a GPU.
        repeats: further runs of the baseline's code, which say what sessions differ by.
    """
    runs = rounds_of(baseline), rounds_of(candidate)
    before, after = step_time_ns(baseline), step_time_ns(candidate)
    if before is None or after is None:
        return None
    judged = noisy_ratio(
        baseline, candidate, interleaved=interleaved, on_gpu=on_gpu, repeats=repeats
    )
    return StepTime(
        baseline_ns=round(before),
        candidate_ns=round(after),
        ratio=before / after,
        interval=judged.interval if judged else None,
        significant=None if judged is None else not judged.interval[0] <= 1 <= judged.interval[1],
        clock="unprofiled",
        n_rounds=(len(runs[0]), len(runs[1])),
        n_steps=(sum(r.n_steps for r in runs[0]), sum(r.n_steps for r in runs[1])),
        paired=judged is not None and judged.paired,
        noise=judged.noise if judged else None,
    )


def step_time_between(before: RunRecord, after: RunRecord) -> StepTime | None:
    """Step times of two runs of one workload, by their own records; None where one was not timed.

    Rounds are paired where one capture timed both in turns.
    """
    first, second = before.measurement, after.measurement
    if first is None or second is None:
        return None
    return compare_unprofiled(
        first,
        second,
        interleaved=bool(timed_in_turns(before, after)),
        on_gpu=bool(before.environment.get("gpu") and after.environment.get("gpu")),
    )


def only_baseline(baseline: Measurement | None) -> StepTime | None:
    """The step time of a baseline whose candidate has none; None where it was not timed either."""
    time_ns, rounds = step_time_ns(baseline), rounds_of(baseline)
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


def timed_in_turns(baseline: RunRecord, candidate: RunRecord) -> bool | None:
    """Were the two timed in turns? Their capture says so; None: one of them was not timed."""
    measurements = [record.measurement for record in (baseline, candidate)]
    if any(measured is None or not measured.rounds for measured in measurements):
        return None
    same_capture = baseline.capture_id == candidate.capture_id != ""
    return same_capture and all(m.interleaved for m in measurements if m is not None)
