"""What a comparison allows to say, in one word; the sentence around it is verdict.py's.

A fast wrong answer is said first, then slower, no difference, faster; a number without repeats
is a measurement and carries no verdict.
"""

from typing import Literal

from profiler_core.analysis.step_time import StepTime
from profiler_core.model.run import Numerics

VerdictKind = Literal["wrong_numerics", "slower", "no_difference", "faster", "no_verdict"]

# An interval that holds 1 shows that two runs are alike only where it is narrow: a gain or a loss
# of 10 % is what people compile for, and one that allows it says nothing. Twenty rounds on a quiet
# machine give some per cent; beyond this the rounds were too few, or the machine was busy.
_LARGEST_ALIKE = 1.1


def judge(
    step_time: StepTime, numerics: Numerics | None, *, workloads_differ: bool = False
) -> VerdictKind:
    """What the numbers allow to say. A ratio that prints as 1.00 is never a gain or a loss.

    Times of different workloads are measurements: neither is the faster way to do the same thing.
    """
    if workloads_differ:
        return "no_verdict"
    if numerics is not None and numerics.verdict == "wrong":
        return "wrong_numerics"
    if step_time.ratio is None or step_time.significant is None:
        return "no_verdict"
    if not step_time.significant or round(step_time.ratio, 2) == 1.0:
        return "no_difference"
    return "faster" if step_time.ratio > 1 else "slower"


def cannot_be_told(verdict: VerdictKind | None, interval: tuple[float, float] | None) -> bool:
    """A "no difference" that is none: the interval holds 1, and a gain or loss of 10 % too.

    Args:
        verdict: as `judge` says it.
        interval: of the ratio.
    """
    if verdict != "no_difference" or interval is None:
        return False
    low, high = interval
    return low < 1 / _LARGEST_ALIKE or high > _LARGEST_ALIKE
