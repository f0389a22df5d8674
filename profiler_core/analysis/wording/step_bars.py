"""What the bars of steps do not show at its full time, and why."""

from collections.abc import Sequence

from profiler_core.analysis.step_parts import StepParts
from profiler_core.units import format_duration, format_share

_TOLD_CUT = 0.002  # of a step: a shorter cut cannot be seen


def scale_notes(labels: Sequence[str], parts: Sequence[StepParts]) -> tuple[str, ...]:
    """A sentence for each bar whose kinds, or whose waiting, are not shown at their full time."""
    shown = tuple(zip(labels, parts, strict=True))
    kinds = (
        f"{label}: {_why_shorter(step)}; in the bar each kind is shown at "
        f"{format_share(step.scale)} of its time, so that the bar adds up to the step."
        for label, step in shown
        if _is_shown_shorter(step)
    )
    waiting = (
        f"{label}: the device was busy for longer in the trace than the step took; in the bar the "
        f"waiting for a rank is {format_duration(step.cut_waiting_ns)} shorter than it is, so that "
        "the bar adds up to the step."
        for label, step in shown
        if step.cut_waiting_ns >= _TOLD_CUT * step.step_ns
    )
    return (*kinds, *waiting)


def _why_shorter(step: StepParts) -> str:
    """Of a step under the profiler itself only the overlap can be the reason."""
    slower = "" if step.clock == "profiled" else ", or were slower under the profiler"
    return f"{'kernels' if step.device_kind == 'gpu' else 'operators'} overlap{slower}"


def _is_shown_shorter(step: StepParts) -> bool:
    """Would a table of the kinds' full times show another number for one of them?"""
    return step.scale < 1 and any(
        format_duration(ns) != format_duration(ns / step.scale) for ns in step.by_category.values()
    )
