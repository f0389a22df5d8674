"""Did the GPU run in the same state for both variants?

A comparison is not a fair one where the clocks lie more than 3 % apart, or where heat or power
throttled one of the two. Words are made of it by `wording.telemetry`.
"""

from dataclasses import dataclass

from profiler_core.analysis.telemetry.clock_events import ClockEvent
from profiler_core.analysis.telemetry.run import RunTelemetry

MOST_APART = 0.03

_Pair = tuple[float | None, float | None]  # (baseline, candidate)


@dataclass(frozen=True)
class ClocksApart:
    """A clock that was not the same for both; `apart` is |b − a| over the greater of the two."""

    clock: str
    mhz: tuple[float, float]
    apart: float


@dataclass(frozen=True)
class Fairness:
    """fair is None where it cannot be judged, because of the runs `without_clocks`."""

    fair: bool | None
    labels: tuple[str, str]
    sm_clock_mhz: _Pair = (None, None)
    memory_clock_mhz: _Pair = (None, None)
    sm_clock_apart: float | None = None
    throttled: tuple[bool | None, bool | None] = (None, None)
    clocks_apart: tuple[ClocksApart, ...] = ()
    throttling: tuple[tuple[str, ClockEvent], ...] = ()  # (label, what held its clocks back)
    without_clocks: tuple[str, ...] = ()  # labels


def fairness(
    baseline: RunTelemetry | None, candidate: RunTelemetry | None, labels: tuple[str, str]
) -> Fairness | None:
    """Judge one pair; None where no GPU of either was sampled."""
    sides = (baseline, candidate)
    if all(side is None or side.gpu_index is None for side in sides):
        return None
    without = tuple(
        label
        for side, label in zip(sides, labels, strict=True)
        if side is None or side.sm_clock_mhz is None
    )
    if baseline is None or candidate is None:
        return Fairness(None, labels, without_clocks=without)
    sm_clock, sm_mhz = _sm_clocks(baseline, candidate)
    memory_mhz = (baseline.memory_clock_mhz, candidate.memory_clock_mhz)
    apart = (*_apart(sm_clock, sm_mhz), *_apart("memory clock", memory_mhz))
    throttling = tuple(
        (label, event)
        for side, label in zip((baseline, candidate), labels, strict=True)
        for event in side.throttling
    )
    throttled = tuple(
        None if side.clock_events is None else bool(side.throttling)
        for side in (baseline, candidate)
    )
    return Fairness(
        fair=False if apart or throttling else None if without else True,
        labels=labels,
        sm_clock_mhz=sm_mhz,
        memory_clock_mhz=memory_mhz,
        sm_clock_apart=_fraction(sm_mhz),
        throttled=(throttled[0], throttled[1]),
        clocks_apart=apart,
        throttling=throttling,
        without_clocks=without,
    )


def _sm_clocks(baseline: RunTelemetry, candidate: RunTelemetry) -> tuple[str, _Pair]:
    """Its name and both; of two jobs of as many ranks those of the rank that differs most."""
    pair = (baseline.sm_clock_mhz, candidate.sm_clock_mhz)
    if not baseline.ranks or len(baseline.ranks) != len(candidate.ranks):
        return "SM clock", pair
    of_ranks = {
        own.rank: (own.sm_clock_mhz, other.sm_clock_mhz)
        for own, other in zip(baseline.ranks, candidate.ranks, strict=True)
    }
    worst = max(of_ranks, key=lambda rank: _fraction(of_ranks[rank]) or 0.0)
    if (_fraction(of_ranks[worst]) or 0.0) <= MOST_APART:
        return "SM clock", pair
    return f"SM clock of rank {worst}'s GPU", of_ranks[worst]


def _apart(clock: str, mhz: _Pair) -> tuple[ClocksApart, ...]:
    baseline, candidate = mhz
    apart = _fraction(mhz)
    if baseline is None or candidate is None or apart is None or apart <= MOST_APART:
        return ()
    return (ClocksApart(clock, (baseline, candidate), apart),)


def _fraction(pair: _Pair) -> float | None:
    baseline, candidate = pair
    if baseline is None or candidate is None or not max(baseline, candidate):
        return None
    return abs(candidate - baseline) / max(baseline, candidate)
