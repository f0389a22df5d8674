"""A candidate at one point of a sweep, in numbers beside its baseline."""

from dataclasses import dataclass

from profiler_core.analysis.rows.table import Cell, Tone
from profiler_core.analysis.sweep.series import Sweep, SweepPoint, VariantAtPoint
from profiler_core.analysis.wording.sweep import short_failure
from profiler_core.units import format_bytes, format_count, format_duration

_TONE: dict[str | None, Tone] = {"faster": "better", "slower": "worse", "wrong_numerics": "worse"}


@dataclass(frozen=True)
class VariantRow:
    """None: nothing is known; of the baseline itself, what is only its candidates'."""

    baseline_step: Cell | None
    step: Cell | None
    ratio: Cell | None
    interval: Cell | None
    throughput: Cell | None  # samples or tokens per second
    baseline_memory: Cell | None
    memory: Cell | None
    compile_time: Cell | None
    break_even: Cell | None

    @property
    def cells(self) -> tuple[Cell | None, ...]:
        """All of them, in this order."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)


def variant_row(sweep: Sweep, point: SweepPoint, variant: VariantAtPoint) -> VariantRow:
    """One variant at one point."""
    base, cost, interval = point.baseline, variant.compile, variant.interval
    other = None if variant is base else variant
    range_cell = _cell(None if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}")
    if variant.verdict == "wrong_numerics":
        range_cell = Cell("wrong results", "worse")
    rate = sweep.per_second(other) if other is not None else None
    steps: str | None = cost.no_break_even
    if cost.break_even_steps is not None:
        steps = format_count(cost.break_even_steps)
    return VariantRow(
        baseline_step=_step(base),
        step=_step(other),
        ratio=_cell(
            None if variant.ratio is None else f"{variant.ratio:.2f}",
            _TONE.get(variant.verdict, ""),
        ),
        interval=range_cell,
        throughput=_cell(format_count(rate) if rate else None),
        baseline_memory=_bytes(sweep.peak_bytes(base)),
        memory=None if other is None else _bytes(sweep.peak_bytes(other)),
        compile_time=_cell(None if cost.seconds is None else format_duration(cost.seconds * 1e9)),
        break_even=_cell(steps),
    )


def _cell(text: str | None, tone: Tone = "") -> Cell | None:
    return None if text is None else Cell(text, tone)


def _bytes(n: int | None) -> Cell | None:
    return None if n is None else Cell(format_bytes(n))


def _step(variant: VariantAtPoint | None) -> Cell | None:
    if variant is None:
        return None
    failure = short_failure(variant)
    if failure is not None:
        return Cell(failure, "worse", note=variant.error or "")
    return None if variant.step_time_ns is None else Cell(format_duration(variant.step_time_ns))
