"""Gains that another run of the comparison measured for a lever, used in place of predictions."""

from dataclasses import dataclass

from profiler_core.analysis.compare import ComparedNumbers
from profiler_core.analysis.side import Side
from profiler_core.analysis.step_time import compare_unprofiled
from profiler_core.analysis.what_if.engine import HOST_SPREAD


@dataclass(frozen=True)
class Tried:
    """Another run of the same comparison that differs in its mode or its precision alone."""

    label: str
    mode: str  # of torch.compile; "" for an eager run
    step_ns: float  # unprofiled
    saved_ns: tuple[float, float, float]  # at least, measured, at most: against this run
    precision: str = ""  # where it differs in its precision alone; else ""


def tried_beside(comparison: ComparedNumbers, number: int) -> tuple[Tried, ...]:
    """The other runs that differ from candidate `number` in their mode or their precision alone.

    Args:
        comparison: of both, and of whatever other candidates there are.
        number: which candidate.
    """
    sides = (comparison.baseline, *comparison.sides)
    own = sides[number + 1]
    return tuple(
        Tried(side.label, _mode(side), side.step_time_ns, _saved_ns(own, side), precision)
        for side in sides
        if side is not own
        and side.step_time_ns is not None
        and side.clock == own.clock == "unprofiled"
        and (precision := _tried_precision(own, side)) is not None
    )


def _tried_precision(own: Side, side: Side) -> str | None:
    """The precision of a run that differs in it alone; "" for another mode; None: not tried."""
    left, right = _without_mode(own), _without_mode(side)
    if left == right:
        return ""
    precision = str(right.pop("precision", ""))
    left.pop("precision", None)
    return precision if left == right and _mode(own) == _mode(side) else None


def _saved_ns(own: Side, side: Side) -> tuple[float, float, float]:
    """What the other run saves per step: at least, measured, at most, by the rounds of both.

    Of one round each, by what two processes differ.
    """
    own_ns, other_ns = own.step_time_ns or 0.0, side.step_time_ns or 0.0
    measured = own_ns - other_ns
    measurements = own.run.record.measurement, side.run.record.measurement
    left, right = measurements
    time = None
    if left is not None and right is not None:
        time = compare_unprofiled(left, right, interleaved=True)
    if time is None or time.interval is None:  # one round each
        spread = HOST_SPREAD * own_ns
        return measured - spread, measured, measured + spread
    low, high = (own_ns * (1 - 1 / ratio) for ratio in time.interval)
    return min(low, measured), measured, max(high, measured)


def _mode(side: Side) -> str:
    return (
        str(side.run.record.spec.get("mode") or "default")
        if side.run.record.spec.get("compile")
        else ""
    )


def _without_mode(side: Side) -> dict[str, object]:
    """What a run was asked for, but for how it compiles: a candidate's name holds its mode."""
    return {
        key: value
        for key, value in {**side.run.record.spec, "workload": side.run.record.workload}.items()
        if key not in ("mode", "compile", "backend", "name", "fullgraph")
    }
