"""What an amount of a trace is of: one step, or all that a trace holds that has no whole steps."""

from collections.abc import Iterable
from typing import Final, Literal

Span = Literal["per step", "in the trace"]
PER_STEP: Final = "per step"
IN_TRACE: Final = "in the trace"


def spanned(span: Span) -> Literal["step", "trace"]:
    """What such an amount is a part of."""
    return "step" if span == PER_STEP else "trace"


def profiled_time(span: Span) -> str:
    """What the time of a profiled step is called, or that of a trace without steps."""
    return "step time, profiled" if span == PER_STEP else "whole trace, profiled"


def common_span(spans: Iterable[Span]) -> Span:
    """What amounts of several traces beside each other are of: of one step where all of them are.

    Args:
        spans: of each trace; with none, amounts are per step, as timed ones are.
    """
    return IN_TRACE if IN_TRACE in tuple(spans) else PER_STEP
