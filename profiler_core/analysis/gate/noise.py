"""How large a change of step time the same code shows against itself.

A true A/A measurement needs the baseline's code twice; where only the two runs are there, each
run is held against itself: its rounds are drawn into two halves, 2000 times with a fixed seed,
and the noise floor is what the medians of two halves differ by in 95 of 100 draws. Halves have
half of the rounds, so they differ by √2 more than two whole runs of one process would; that much
is left in for what differs from process to process.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from profiler_core.analysis.step_time import step_time_ns
from profiler_core.model.run import Measurement

MIN_ROUNDS = 10  # a capture makes 20 and never fewer than 10
_N_DRAWS = 2000
_QUANTILE = 0.95
_SEED = 0  # the same files give the same answer


@dataclass(frozen=True)
class Noise:
    """Relative changes of step time, as fractions."""

    floor: float  # what the same code differs by
    of_rounds: float  # the part of it from each run's own rounds
    drift: float | None  # first half against second half; None: timed in turns, it cancels
    of_repeats: float | None  # further runs of the baseline's code against it; None: there is none


def noise_floor(
    baseline: Measurement,
    candidate: Measurement,
    *,
    interleaved: bool,
    repeats: Sequence[Measurement] = (),
) -> Noise | None:
    """The floor under a comparison of two runs; None where a run has too few rounds.

    Args:
        baseline: as recorded.
        candidate: as recorded.
        interleaved: they were timed in turns, so a drift hits both alike.
        repeats: further runs of the baseline's code.
    """
    runs = [_times(baseline), _times(candidate)]
    if min(len(run) for run in runs) < MIN_ROUNDS:
        return None
    of_rounds = max(_halves(run) for run in runs)
    drift = None if interleaved else max(_drift(run) for run in runs)
    of_repeats = _repeats(baseline, repeats)
    return Noise(max(of_rounds, drift or 0.0, of_repeats or 0.0), of_rounds, drift, of_repeats)


def _times(measurement: Measurement) -> npt.NDArray[np.float64]:
    rounds = sorted(measurement.rounds, key=lambda measured_round: measured_round.index)
    return np.array([r.wall_ns / r.n_steps for r in rounds if r.n_steps > 0 and r.wall_ns > 0])


def _halves(times: npt.NDArray[np.float64]) -> float:
    random = np.random.default_rng(_SEED)
    order = random.random((_N_DRAWS, len(times))).argsort(axis=1)
    middle = len(times) // 2
    first = np.median(times[order[:, :middle]], axis=1)
    second = np.median(times[order[:, middle:]], axis=1)
    factors = np.maximum(first / second, second / first)
    return float(np.quantile(factors, _QUANTILE)) - 1


def _drift(times: npt.NDArray[np.float64]) -> float:
    middle = len(times) // 2
    return abs(float(np.median(times[middle:]) / np.median(times[:middle])) - 1)


def _repeats(baseline: Measurement, repeats: Sequence[Measurement]) -> float | None:
    base = step_time_ns(baseline)
    others = [time for repeat in repeats if (time := step_time_ns(repeat)) is not None]
    if not base or not others:
        return None
    return max(abs(time / base - 1) for time in others)
