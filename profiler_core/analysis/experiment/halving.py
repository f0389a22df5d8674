"""Which settings of a capture are timed no further: what is slower after a few rounds."""

import math
from collections.abc import Mapping

from profiler_core.analysis.noise import MIN_ROUNDS, noisy_ratio
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.model.experiment import Ratio
from profiler_core.model.run import Measurement

RUNGS = (MIN_ROUNDS, 2 * MIN_ROUNDS)  # turns after which it is asked


def stopped(
    measured: Mapping[str, Measurement],
    n_turns: int,
    kept: frozenset[str],
    baseline: str,
    *,
    on_gpu: bool,
) -> frozenset[str]:
    """Labels of the settings that stop here.

    At a rung the slower half of the settings stops, as far as they are slower than the fastest one
    beyond the noise; a setting that may be the fastest goes on. The baseline stops nothing: where
    it is faster than all that is compiled, the fastest compiled setting still leads.

    Args:
        measured: of all that still take part, by their labels.
        n_turns: made so far.
        kept: labels that always go on: the baseline, and what the others are held against.
        baseline: its label.
        on_gpu: they compute on a GPU.
    """
    if n_turns not in RUNGS:
        return frozenset()
    times = {label: step_time_ns(m) for label, m in measured.items()}
    timed = {label: t for label, t in times.items() if t is not None and label != baseline}
    if not timed:
        return frozenset()
    fastest = min(timed, key=lambda label: timed[label])
    slower = [
        label
        for label in timed
        if label not in kept
        and label != fastest
        and (ratio := ratio_of(measured[fastest], measured[label], on_gpu=on_gpu)) is not None
        and ratio.is_slower
    ]
    slower.sort(key=lambda label: -timed[label])
    n_candidates = sum(label not in kept for label in timed)
    plainly = [label for label in slower if timed[label] > _PLAINLY * timed[fastest]]
    return frozenset([*slower[: math.ceil(n_candidates / 2)], *plainly])


_PLAINLY = 1.5  # times slower: nothing makes up for that


def ratio_of(baseline: Measurement, candidate: Measurement, *, on_gpu: bool) -> Ratio | None:
    """Step time of one over that of the other, timed in turns; None with too few rounds."""
    noisy = noisy_ratio(baseline, candidate, interleaved=True, on_gpu=on_gpu)
    if noisy is None:
        return None
    low, high = noisy.interval
    return Ratio(ratio=noisy.ratio, low=low, high=high)
