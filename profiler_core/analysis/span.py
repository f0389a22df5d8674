"""What an amount of a trace is of: one step, or all that a trace holds that has no whole steps."""

from collections.abc import Iterable
from typing import Final, Literal

Span = Literal["per step", "in the trace"]
PER_STEP: Final = "per step"
IN_TRACE: Final = "in the trace"


def common_span(spans: Iterable[Span]) -> Span:
    """What amounts of several traces beside each other are of: of one step where all of them are.

    Args:
        spans: of each trace; with none, amounts are per step, as timed ones are.
    """
    return IN_TRACE if IN_TRACE in tuple(spans) else PER_STEP
