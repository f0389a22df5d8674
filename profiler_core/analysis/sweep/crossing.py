"""Where compiling starts to pay: between which two swept values the speed-up passes 1.

A value *pays* where the verdict on its point is "faster": the whole interval of the speed-up lies
above 1, and the answers are right. Everything here is about points that were judged; one that
failed, has too few rounds or cannot be told from its baseline is neither for nor against.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from profiler_core.analysis.verdict_kind import VerdictKind

CrossingKind = Literal["always", "never", "from", "until", "mixed", "unknown"]


@dataclass(frozen=True)
class Judged:
    """One value of a sweep with the verdict on one candidate.

    `x` is where the value lies on a scale that only grows, above 0; None for a word, which has
    an order and no distance.
    """

    index: int  # of the point
    x: float | None
    verdict: VerdictKind
    ratio: float | None
    interval: tuple[float, float] | None

    @property
    def pays(self) -> bool:
        """Compiling is worth it here, as far as step times go."""
        return self.verdict == "faster"


@dataclass(frozen=True)
class Crossing:
    """What the judged values say together.

    `from`: the higher ones pay, the lower ones do not; `until` the other way round; `mixed`:
    neither. `between` are the indices of the two neighbours between which it changes. `at` is
    where, between them, the lower end of the interval passes 1, on the scale of `x`, by
    interpolation between the logarithms of both; None where the ends do not enclose 1.
    """

    kind: CrossingKind
    paying: tuple[int, ...] = ()  # indices, in order of the values
    not_paying: tuple[int, ...] = ()
    between: tuple[int, int] | None = None
    at: float | None = None


def crossing(points: Sequence[Judged]) -> Crossing:
    """What the verdicts say, the points in order of their values; words in the order given.

    Words have no "from" and "until": of them some pay and some do not ("mixed").
    """
    judged = [p for p in points if p.verdict not in ("no_verdict", "cannot_be_told")]
    paying = tuple(p.index for p in judged if p.pays)
    not_paying = tuple(p.index for p in judged if not p.pays)
    if not judged:
        return Crossing("unknown")
    if not not_paying:
        return Crossing("always", paying)
    if not paying:
        return Crossing("never", (), not_paying)
    changes = [(a, b) for a, b in pairwise(judged) if a.pays != b.pays]
    if len(changes) > 1 or any(p.x is None for p in judged):
        return Crossing("mixed", paying, not_paying)
    ((before, after),) = changes
    kind: CrossingKind = "from" if after.pays else "until"
    return Crossing(kind, paying, not_paying, (before.index, after.index), _at(before, after))


def _at(before: Judged, after: Judged) -> float | None:
    """Where the straight line between the lower ends passes 1, in log-log."""
    ends = [value.interval[0] if value.interval else None for value in (before, after)]
    low, high = ends
    if not low or not high or not before.x or not after.x or (low < 1) == (high < 1):
        return None  # a wrong answer, or a ratio that prints as 1.00, changes without passing 1
    share = -math.log(low) / (math.log(high) - math.log(low))
    return math.exp(math.log(before.x) + share * (math.log(after.x) - math.log(before.x)))
