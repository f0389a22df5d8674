"""How far the ratio of two step times may lie off: the one noise model of the product.

Verdict, break-even, gate, sweep, trend and report all take their interval from here. It is a 95 %
interval of baseline / candidate, as it would come out if both were started and timed once more.
What makes it wide, as logarithms, combined as the root of the sum of squares:

* rounds: a bootstrap of the medians over the rounds. Rounds that depend on their neighbours are
  drawn in blocks, rounds timed in turns in pairs; few rounds move the quantiles further out.
* processes: what two processes of one code differ by that no number of rounds shows (addresses,
  caches, the state of the machine). Its size is measured (docs/measuring.md), by kind of device,
  and larger for runs that were not timed in turns; further runs of the baseline's code refine it.
* drift, of runs not timed in turns: how much the second half of either run's rounds differs from
  the first, carried on over the time between the two runs.
* load, of runs not timed in turns: steps that waited for a CPU are longer by an unknown factor, so
  a disturbed run may be as fast as its fastest steps; where single steps were not timed, as its
  fastest round and as much again.

On a GPU whose step waits for its launches a process is as fast as the core that it runs on, and
what another machine runs on that core's other thread makes its steps half as long again, for up to
a whole run. Turns do not share that, since each process has a core of its own: where their ratios
scatter, all rounds of a run count as one draw, and two processes differ as any two turns do. Apart
it is the load that allows for it.

In turns a load hits both alike, and yet makes the rounds say little. There the fastest quarter of
each round's steps, which nothing delayed, may tell a difference that the rounds leave open: where
its interval leaves 1 out, on the side on which the rounds' ratio lies, the interval reaches from it
to that ratio. It never says that there is no difference, since the other steps may differ.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from profiler_core.analysis.host_load import waited_too_long
from profiler_core.model.run import Measurement, Round

# Below this many rounds resampling cannot show the spread: the interval of two or three values
# is those values. Captures make 20 rounds and never fewer than 10.
MIN_ROUNDS = 5

# What two processes of one code differ by in 95 of 100 pairs, as logarithms (docs/measuring.md).
_PROCESSES_IN_TURNS = {"gpu": 0.005, "cpu": 0.02}
_PROCESSES_APART = {"gpu": 0.04, "cpu": 0.10}
# A drift is carried on to twice the length of a run: nobody knows when it stops.
_LONGEST_DRIFT = 4.0
# A run is disturbed, too, whose slowest rounds take this much longer than its fastest.
_SCATTERED = 1.25
# Ratios of turns on a GPU that scatter more than this: the cores of its host were not alike.
_SCATTERED_CORES = 1.1
_CALM = 25  # percentile of a round's steps
_LEAST_STEPS = 8  # of a round whose percentile means something

_N_RESAMPLES = 2000
_CONFIDENCE = 0.95
_SEED = 0  # the same files give the same interval

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """What one code differs by against itself in 95 of 100 pairs, and why; all as fractions."""

    floor: float  # all together, the wider end of the interval
    of_rounds: float
    of_processes: float  # two processes of one code
    drift: float | None  # None: timed in turns, it cancels
    of_load: float | None  # steps that waited for a CPU; None: timed in turns, or not disturbed
    of_repeats: float | None  # further runs of the baseline's code; None: there is none
    # In turns on a busy host, where each round's fastest steps decided; None: its rounds did.
    of_fastest_steps: float | None = None


@dataclass(frozen=True)
class NoisyRatio:
    """Baseline / candidate with its interval."""

    ratio: float
    interval: tuple[float, float]
    paired: bool  # rounds of one turn were drawn together
    noise: Noise


def rounds_of(measurement: Measurement | None) -> list[Round]:
    """The rounds that hold a time, in the order in which they were timed."""
    rounds = measurement.rounds if measurement else ()
    timed = [r for r in rounds if r.n_steps > 0 and r.wall_ns > 0]
    return sorted(timed, key=lambda timed_round: timed_round.index)


def per_step(measured_round: Round) -> float:
    """Wall time of one round over its steps, ns."""
    return measured_round.wall_ns / measured_round.n_steps


def noisy_ratio(
    baseline: Measurement,
    candidate: Measurement,
    *,
    interleaved: bool,
    on_gpu: bool,
    repeats: Sequence[Measurement] = (),
) -> NoisyRatio | None:
    """The ratio of the medians over the rounds and its interval; None with too few rounds.

    Args:
        baseline: as recorded.
        candidate: as recorded.
        interleaved: the two were timed in turns, so rounds of one index share their conditions.
        on_gpu: both computed on a GPU.
        repeats: further runs of the baseline's code.
    """
    runs = (rounds_of(baseline), rounds_of(candidate))
    if min(map(len, runs)) < MIN_ROUNDS:
        return None
    medians = [_median(rounds) for rounds in runs]
    ratio = medians[0] / medians[1]
    turns = _turns(*runs) if interleaved else None
    of_repeats = _of_repeats(medians[0], repeats)
    device = "gpu" if on_gpu else "cpu"
    if turns is not None:
        low, high = _resampled(turns)
        drift = load = None
        of_cores = _of_cores(turns, (baseline, candidate)) if on_gpu else 0.0
        processes = max(_PROCESSES_IN_TURNS[device], *of_repeats, of_cores)
    else:
        low, high = _resampled(*([per_step(r) for r in rounds] for rounds in runs))
        drift = _drift(*runs)
        loads = [_load(*run) for run in zip((baseline, candidate), runs, medians, strict=True)]
        load = max(loads) or None
        low, high = (
            min(low, math.log(ratio) - loads[0]),
            max(high, math.log(ratio) + loads[1]),
        )
        processes = _processes_apart(_PROCESSES_APART[device], of_repeats)
    centre = math.log(ratio)
    beside = math.hypot(processes, drift or 0.0)
    down = math.hypot(max(0.0, centre - low), beside)
    up = math.hypot(max(0.0, high - centre), beside)
    fastest = None
    if turns is not None and not of_cores and -down <= -centre <= up:
        fastest = _by_fastest_steps((baseline, candidate), runs, centre, processes)
    if fastest is not None:
        down, up = min(down, centre - fastest[0]), min(up, fastest[1] - centre)
    noise = Noise(
        floor=math.expm1(max(down, up)),
        of_rounds=math.expm1(max(0.0, centre - low, high - centre)),
        of_processes=math.expm1(processes),
        drift=None if drift is None else math.expm1(drift),
        of_load=None if load is None else math.expm1(load),
        of_repeats=math.expm1(max(of_repeats)) if of_repeats else None,
        of_fastest_steps=None if fastest is None else math.expm1(max(down, up)),
    )
    interval = (math.exp(centre - down), math.exp(centre + up))
    return NoisyRatio(ratio, interval, turns is not None, noise)


def alone_ns(measurement: Measurement | None) -> float | None:
    """Time per step before any other variant's process had run on the GPU; None: not timed so."""
    alone = measurement.alone if measurement is not None else None
    if alone is None or alone.n_steps <= 0 or alone.wall_ns <= 0:
        return None
    return alone.wall_ns / alone.n_steps


def repeated(measurement: Measurement, *, on_gpu: bool) -> tuple[float, float] | None:
    """Where the step time would lie if the run were started and timed once more.

    In turns or alone: where the two differ, the interval holds both.

    Returns:
        Ends of a 95 % interval, as factors of its median; None with too few rounds.
    """
    rounds = rounds_of(measurement)
    if len(rounds) < MIN_ROUNDS:
        return None
    median = _median(rounds)
    low, high = _resampled([per_step(r) for r in rounds])
    processes = _PROCESSES_APART["gpu" if on_gpu else "cpu"]
    beside = math.hypot(processes, _between_halves(rounds))
    down = max(math.log(median) - low, _load(measurement, rounds, median))
    up = max(0.0, high - math.log(median))
    alone = math.log((alone_ns(measurement) or median) / median)
    return (
        math.exp(min(0.0, alone) - math.hypot(down, beside)),
        math.exp(max(0.0, alone) + math.hypot(up, beside)),
    )


def _median(rounds: Sequence[Round]) -> float:
    return float(np.median([per_step(r) for r in rounds]))


# -- rounds ---------------------------------------------------------------------------------------


def _turns(baseline: Sequence[Round], candidate: Sequence[Round]) -> _Floats | None:
    """(n, 2) times of both in each turn; None where too few turns hold both."""
    by_index = {r.index: per_step(r) for r in candidate}
    pairs = [(per_step(r), by_index[r.index]) for r in baseline if r.index in by_index]
    return np.array(pairs) if len(pairs) >= MIN_ROUNDS else None


def _resampled(*sides: npt.ArrayLike) -> tuple[float, float]:
    """Ends of the bootstrap interval of the logarithm of the ratio of medians.

    Args:
        sides: one array (n, 2) of turns, or two arrays of n times each; one array of n times
            stands for their median alone.
    """
    random = np.random.default_rng(_SEED)
    medians, tails = [], []
    for side in map(np.asarray, sides):
        series = np.log(side[:, 0] / side[:, 1]) if side.ndim == 2 else np.log(side)
        block = _block(series)
        tails.append(_tail(len(side) / block))
        medians.append(_medians(side, _draws(random, len(side), block)))
    if len(sides) == 2:
        ratios = medians[0] / medians[1]
    else:
        ratios = medians[0][0] / medians[0][1] if medians[0].ndim == 2 else medians[0]
    tail = min(tails) * 100
    low, high = np.percentile(np.log(ratios), [tail, 100 - tail])
    return float(low), float(high)


def _draws(random: np.random.Generator, n: int, block: int) -> npt.NDArray[np.int64]:
    """(resamples, n) indices: blocks of neighbours, going round at the end."""
    starts = random.integers(0, n, (_N_RESAMPLES, math.ceil(n / block), 1))
    indices: npt.NDArray[np.int64] = (starts + np.arange(block)) % n
    return indices.reshape(_N_RESAMPLES, -1)[:, :n]


def _medians(side: _Floats, draws: npt.NDArray[np.int64]) -> _Floats:
    """The median of each draw, (resamples,), or of both columns of a side of turns, (2, resamples).

    What `np.median` gives, in a third of its time: the columns lie apart, and are sorted in place.
    """
    n = draws.shape[1]
    drawn: _Floats = np.ascontiguousarray(side.T)[..., draws]
    drawn.partition(((n - 1) // 2, n // 2), axis=-1)
    medians: _Floats = (drawn[..., (n - 1) // 2] + drawn[..., n // 2]) / 2
    return medians


def _block(series: _Floats) -> int:
    """How many neighbouring rounds depend on each other (Carlstein's rule for an AR(1) series)."""
    n = len(series)
    centred = series - series.mean()
    power = float(centred @ centred)
    correlation = float(centred[1:] @ centred[:-1]) / power if power > 0 else 0.0
    correlation = min(correlation, 0.9)
    if correlation <= 0:
        return 1
    length = (2 * correlation / (1 - correlation**2)) ** (2 / 3) * n ** (1 / 3)
    return int(max(1, min(math.ceil(length), n // 4)))


def _tail(n_blocks: float) -> float:
    """The quantile for one end: further out with few blocks, as Student's t is (Hesterberg)."""
    normal = NormalDist()
    z = normal.inv_cdf((1 + _CONFIDENCE) / 2)
    freedom = max(2.0, n_blocks - 1)
    t = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return normal.cdf(-t * math.sqrt((freedom + 1) / freedom))


# -- what no number of rounds shows ---------------------------------------------------------------


def _never_waited(measurement: Measurement) -> bool:
    """Did its threads not wait for a CPU? False, too, where nobody looked."""
    load = measurement.host_load
    return load is not None and load.waited_share is not None and not waited_too_long(load)


def _of_cores(turns: _Floats, measurements: Sequence[Measurement]) -> float:
    """How far the ratios of turns lie apart, as a logarithm, by no load that a thread waited for.

    0.0 where that is little, or a thread waited, or nobody looked.
    """
    low, high = np.percentile(np.log(turns[:, 0] / turns[:, 1]), [10, 90])
    is_far = high - low > math.log(_SCATTERED_CORES) and all(map(_never_waited, measurements))
    return float(high - low) if is_far else 0.0


def _drift(baseline: Sequence[Round], candidate: Sequence[Round]) -> float:
    """What the step time may have moved by between two runs, from how it moved within them."""
    carried = min(_LONGEST_DRIFT, max(1.0, 2 * _distance(baseline, candidate)))
    return carried * math.hypot(_between_halves(baseline), _between_halves(candidate))


def _between_halves(rounds: Sequence[Round]) -> float:
    middle = len(rounds) // 2
    return abs(math.log(_median(rounds[middle:]) / _median(rounds[:middle])))


def _distance(baseline: Sequence[Round], candidate: Sequence[Round]) -> float:
    """Time between the middles of two runs, in lengths of the shorter; 1 without clock times."""
    spans = []
    for rounds in (baseline, candidate):
        first, last = rounds[0].started_ns, rounds[-1].started_ns
        if first is None or last is None:
            return 1.0
        spans.append((first, last + rounds[-1].wall_ns))
    (start, end), (other_start, other_end) = spans
    shorter = min(end - start, other_end - other_start)
    return abs(start + end - other_start - other_end) / 2 / max(shorter, 1)


def _load(measurement: Measurement, rounds: Sequence[Round], median: float) -> float:
    """How much shorter the steps of a disturbed run may be than its median; 0: not disturbed."""
    times = [per_step(r) for r in rounds]
    if not _is_disturbed(measurement, times):
        return 0.0
    if not measurement.step_event_ns or measurement.step_shapes is not None:
        return 2 * math.log(median / min(times))  # the fastest round may be disturbed as much
    fastest = min(*times, float(np.percentile(measurement.step_event_ns, 1)))
    return math.log(median / fastest) if 0 < fastest < median else 0.0


def _is_disturbed(measurement: Measurement, times: Sequence[float]) -> bool:
    """Did its threads wait for a CPU, or do its rounds look as if they had?"""
    fast, slow = np.percentile(times, [10, 90])
    return bool(waited_too_long(measurement.host_load)) or bool(slow / fast > _SCATTERED)


def _by_fastest_steps(
    measurements: Sequence[Measurement],
    runs: Sequence[Sequence[Round]],
    centre: float,
    processes: float,
) -> tuple[float, float] | None:
    """Ends of the logarithm of the ratio that the fastest steps of rounds timed in turns leave.

    Args:
        measurements: of baseline and candidate.
        runs: their rounds.
        centre: logarithm of the ratio of the rounds, which the ends hold.
        processes: what two processes of one code differ by.

    Returns:
        None where no run was disturbed, steps were not timed, or this tells no difference.
    """
    times = [[per_step(r) for r in rounds] for rounds in runs]
    if not any(map(_is_disturbed, measurements, times)):
        return None
    sides = [_fastest_steps(*side) for side in zip(measurements, runs, strict=True)]
    common = [index for index in sides[0] if index in sides[1]]
    if len(common) < MIN_ROUNDS:
        return None
    turns = np.array([[side[index] for side in sides] for index in common])
    medians = np.median(turns, axis=0)
    middle = math.log(medians[0] / medians[1])
    low, high = _resampled(turns)
    low = middle - math.hypot(max(0.0, middle - low), processes)
    high = middle + math.hypot(max(0.0, high - middle), processes)
    low, high = min(low, centre), max(high, centre)
    return None if low <= 0 <= high else (low, high)


def _fastest_steps(measurement: Measurement, rounds: Sequence[Round]) -> dict[int, float]:
    """Round -> the lower quartile of its steps; {} where not all single steps of it were timed."""
    steps = np.array(measurement.step_event_ns, dtype=float)
    ends = np.cumsum([r.n_steps for r in rounds])
    if measurement.step_shapes is not None or len(steps) != ends[-1]:
        return {}
    return {
        r.index: float(np.percentile(steps[end - r.n_steps : end], _CALM))
        for r, end in zip(rounds, ends, strict=True)
        if r.n_steps >= _LEAST_STEPS
    }


def _of_repeats(baseline_ns: float, repeats: Sequence[Measurement]) -> list[float]:
    timed = [rounds for repeat in repeats if (rounds := rounds_of(repeat))]
    return [abs(math.log(_median(rounds) / baseline_ns)) for rounds in timed]


def _processes_apart(usual: float, of_repeats: Sequence[float]) -> float:
    """What two sessions differ by: the usual size counts as one pair, each repeat as another."""
    if not of_repeats:
        return usual
    z = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
    squares = usual**2 + sum((z * repeat) ** 2 for repeat in of_repeats)
    return max(*of_repeats, math.sqrt(squares / (1 + len(of_repeats))))
