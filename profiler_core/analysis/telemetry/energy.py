"""Power and energy from the GPU's energy counter, between two of its own ticks.

The counter moves about every 0.1 s (H200; every 20 ms on others), so its value is up to a tick
old. Between two ticks it is exact; what is left is that a tick is seen up to one sample late.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from profiler_core.analysis.telemetry.phases import Phase
from profiler_core.model.telemetry import GpuSample

MIN_ENERGY_S = 1.0  # ten ticks; below, a tick more or less changes the answer by over 10 %


@dataclass(frozen=True)
class MeanPower:
    """Energy over time between the first and the last tick inside a phase.

    error_fraction: one sample's distance over that time; the ticks may lie so much further apart,
    or closer together, than they were seen.
    """

    power_w: float
    span_ns: int
    error_fraction: float


def mean_power(samples: Sequence[GpuSample], phase: Phase) -> MeanPower | str:
    """The mean power of a phase, or the sentence that says why there is none.

    Args:
        samples: of one GPU, by time, those before the phase included.
        phase: what the power is of.
    """
    readings = [(s.t_ns, s.energy_mj) for s in samples if s.energy_mj is not None]
    if not readings:
        return "There is no energy counter."
    ticks = [
        (t, energy, t - t_before)
        for (t_before, before), (t, energy) in pairwise(readings)
        if energy != before and phase.holds(t)
    ]
    if len(ticks) < 2:
        return _too_short(phase)
    (first_t, first, _), (last_t, last, distance) = ticks[0], ticks[-1]
    if any(b[1] < a[1] for a, b in pairwise(ticks)):
        return "The energy counter went back: the driver was loaded anew in between."
    span_ns = last_t - first_t
    if span_ns < MIN_ENERGY_S * 1e9:
        return _too_short(phase)
    return MeanPower((last - first) / span_ns * 1e6, span_ns, distance / span_ns)


def _too_short(phase: Phase) -> str:
    return (
        f"Too short: the energy counter moves about every 0.1 s, so {MIN_ENERGY_S:.0f} s between "
        f"its ticks is the least, and this is {phase.length_ns / 1e9:.2f} s."
    )
