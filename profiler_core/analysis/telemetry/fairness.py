"""Did the GPU run in the same state for both variants?

A comparison is not a fair one where the clocks lie more than 3 % apart, or where heat or power
throttled one of the two.
"""

from dataclasses import dataclass

from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.units import format_share

MOST_APART = 0.03
PREFIX = "Not a fair comparison: "


@dataclass(frozen=True)
class Fairness:
    """fair is None where it cannot be judged; `sentences` say why it is as it is.

    Pairs are (baseline, candidate); sm_clock_apart is |b − a| over the greater of the two.
    """

    fair: bool | None
    sentences: tuple[str, ...]
    sm_clock_mhz: tuple[float | None, float | None] = (None, None)
    memory_clock_mhz: tuple[float | None, float | None] = (None, None)
    sm_clock_apart: float | None = None
    throttled: tuple[bool | None, bool | None] = (None, None)


def fairness(
    baseline: RunTelemetry | None, candidate: RunTelemetry | None, labels: tuple[str, str]
) -> Fairness | None:
    """Judge one pair; None where no GPU of either was sampled."""
    sides = (baseline, candidate)
    if all(side is None or side.gpu_index is None for side in sides):
        return None
    without = [
        label
        for side, label in zip(sides, labels, strict=True)
        if side is None or side.sm_clock_mhz is None
    ]
    if baseline is None or candidate is None:
        return Fairness(None, (_unknown(without),))
    clocks = (baseline.sm_clock_mhz, candidate.sm_clock_mhz)
    memory = (baseline.memory_clock_mhz, candidate.memory_clock_mhz)
    unfair = [*_apart("SM clock", clocks, labels), *_apart("memory clock", memory, labels)]
    for side, label in zip((baseline, candidate), labels, strict=True):
        unfair += [
            f"the clocks of {label} were {event.words} ({event.name}, "
            f"{format_share(event.share)} of the samples)"
            for event in side.throttling
        ]
    throttled = tuple(
        None if side.clock_events is None else bool(side.throttling)
        for side in (baseline, candidate)
    )
    apart = _fraction(clocks)
    if unfair:
        sentences = (f"{PREFIX}{'; '.join(unfair)}.",)
        return Fairness(False, sentences, clocks, memory, apart, (throttled[0], throttled[1]))
    if without:
        sentences = (_unknown(without),)
        return Fairness(None, sentences, clocks, memory, apart, (throttled[0], throttled[1]))
    sentences = (
        f"{labels[0]} and {labels[1]}: SM clock {clocks[0]:.0f} and {clocks[1]:.0f} MHz"
        + (", neither was throttled." if None not in throttled else "; whether it was throttled is "
           "not known."),
    )  # fmt: skip
    return Fairness(True, sentences, clocks, memory, apart, (throttled[0], throttled[1]))


def _apart(
    clock: str, pair: tuple[float | None, float | None], labels: tuple[str, str]
) -> list[str]:
    apart = _fraction(pair)
    if apart is None or apart <= MOST_APART:
        return []
    return [
        f"the {clock} was {pair[0]:.0f} MHz for {labels[0]} and {pair[1]:.0f} MHz for {labels[1]}, "
        f"{apart * 100:.1f} % apart (at most {MOST_APART * 100:.0f} % is fair)"
    ]


def _fraction(pair: tuple[float | None, float | None]) -> float | None:
    baseline, candidate = pair
    if baseline is None or candidate is None or not max(baseline, candidate):
        return None
    return abs(candidate - baseline) / max(baseline, candidate)


def _unknown(without: list[str]) -> str:
    return (
        f"Whether the GPU was in the same state for both is not known: the clocks of "
        f"{' and '.join(without)} were not sampled for long enough."
    )
