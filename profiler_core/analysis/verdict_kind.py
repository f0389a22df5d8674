"""What a comparison allows to say, in one word; the sentence around it is verdict.py's.

A fast wrong answer is said first, then slower, no difference (or that it cannot be told), faster;
a number without repeats is a measurement and carries no verdict.
"""

from typing import Literal

from profiler_core.analysis.step_time import StepTime
from profiler_core.model.run import Numerics

VerdictKind = Literal[
    "wrong_numerics", "slower", "no_difference", "cannot_be_told", "faster", "no_verdict"
]

# An interval that holds 1 shows that two runs are alike only where it is narrow: a gain or a loss
# of 10 % is what people compile for, and one that allows it says nothing. Twenty rounds on a quiet
# machine give some per cent; beyond this the rounds were too few, or the machine was busy.
_LARGEST_ALIKE = 1.1


def judge(
    step_time: StepTime, numerics: Numerics | None, *, workloads_differ: bool = False
) -> VerdictKind:
    """What the numbers allow to say; the interval of `noise` decides, and nothing else.

    Times of different workloads are measurements: neither is the faster way to do the same thing.
    """
    if workloads_differ:
        return "no_verdict"
    if numerics is not None and numerics.verdict == "wrong":
        return "wrong_numerics"
    if step_time.ratio is None or step_time.interval is None:
        return "no_verdict"
    low, high = step_time.interval
    if low > 1 or high < 1:
        return "faster" if low > 1 else "slower"
    is_wide = low < 1 / _LARGEST_ALIKE or high > _LARGEST_ALIKE
    return "cannot_be_told" if is_wide else "no_difference"
