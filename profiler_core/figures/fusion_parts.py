"""What the fusion map draws as one piece: a folded group, or all those too small to see.

A picture has some hundred pieces at most, however many groups there are, and the pieces' times
sum to the groups'.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.ledger.result import Kind
from profiler_core.units import format_count, format_share

_FEWEST, _MOST = 120, 240  # pieces drawn by themselves, however thin, and at most
_SLICE = 10.0  # joined neighbours are drawn when together they are so many times as high as `least`
_PLACED: tuple[Kind, ...] = ("matched", "removed")


@dataclass(frozen=True)
class Part:
    """One piece of the picture."""

    title: str
    brief: str  # the same where there is little room
    kind: Kind
    sides: tuple[dict[str, float], dict[str, float]]  # category -> ns per step
    number: int | None  # index in the given groups; None: several small ones
    n_kernels: tuple[float, float]
    source: str
    module: str

    @property
    def heights(self) -> tuple[float, float]:
        """Ns per step of either side."""
        return sum(self.sides[0].values()), sum(self.sides[1].values())


def drawn_parts(
    groups: Sequence[FoldedGroup], least: float, *, program_order: bool = False
) -> list[Part]:
    """The pieces in their order: what has a counterpart or is gone first, then what stands alone.

    Args:
        groups: in the order to draw them in.
        least: ns per step; what is smaller on both sides has no room of its own.
        program_order: small neighbours are joined where they stand; else all small ones at the end.
    """
    total = sum(max(group.baseline_ns, group.candidate_ns) for group in groups)
    by_size = sorted(range(len(groups)), key=lambda i: -_size(groups[i]))
    drawn = {
        number
        for order, number in enumerate(by_size[:_MOST])
        if order < _FEWEST or _size(groups[number]) >= least
    }
    if len(groups) <= _FEWEST:
        drawn = {number for number in drawn if _size(groups[number]) >= least / 4}
    parts: list[Part] = []
    for placed in (True, False):
        waiting: list[tuple[int, FoldedGroup]] = []
        height = 0.0
        for number, group in enumerate(groups):
            if (group.kind in _PLACED) != placed:
                continue
            is_kept = number in drawn
            if not is_kept:
                waiting.append((number, group))
                height += _size(group)
            if waiting and program_order and (is_kept or height >= _SLICE * least):
                parts.append(_joined(waiting, total))
                waiting, height = [], 0.0
            if is_kept:
                parts.append(_alone(group, number))
        if waiting:
            parts.append(_joined(waiting, total))
    return parts


def _size(group: FoldedGroup) -> float:
    return max(group.baseline_ns, group.candidate_ns)


def _alone(group: FoldedGroup, number: int) -> Part:
    first = group.first
    return Part(
        title=group.label,
        brief=group.title,
        kind=group.kind,
        sides=(group.by_category(0), group.by_category(1)),
        number=number,
        n_kernels=group.n_kernels,
        source=first.sources[0][0] if first.sources else "",
        module=first.module or "",
    )


def _joined(small: Sequence[tuple[int, FoldedGroup]], total: float) -> Part:
    if len(small) == 1:
        return _alone(small[0][1], small[0][0])
    groups = [group for _, group in small]
    sides: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for group in groups:
        for side in (0, 1):
            for category, ns in group.by_category(side).items():
                sides[side][category] = sides[side].get(category, 0.0) + ns
    share = format_share(sum(map(_size, groups)) / total if total else None)
    title = (
        f"and {format_count(sum(len(group.groups) for group in groups))} smaller groups, {share}"
    )
    return Part(
        title=title,
        brief=title,
        kind=groups[0].kind,
        sides=sides,
        number=None,
        n_kernels=(sum(g.n_kernels[0] for g in groups), sum(g.n_kernels[1] for g in groups)),
        source="",
        module="",
    )
