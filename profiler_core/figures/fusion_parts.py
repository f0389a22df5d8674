"""What the fusion map draws as one piece: a folded group, or all those too small to see.

A picture has some hundred pieces at most, however many groups there are, and the pieces' times
sum to the groups'.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.ledger.group_marks import group_marks
from profiler_core.analysis.ledger.result import Kind
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.units import format_count, format_share

_FEWEST, _MOST = 120, 240  # pieces drawn by themselves, however thin, and at most
_LEAST_TITLE = 12  # characters of one beside its mark
_SLICE = 10.0  # joined neighbours are drawn when together they are so many times as high as `least`
_PLACED: tuple[Kind, ...] = ("matched", "removed")


@dataclass(frozen=True)
class Part:
    """One piece of the picture."""

    names: tuple[str, ...]  # from the whole one to what there is little room for
    kind: Kind
    sides: tuple[dict[str, float], dict[str, float]]  # category -> ns per step
    number: int | None  # index in the given groups; None: several small ones
    n_kernels: tuple[float, float]
    source: str
    module: str
    bare_title: str = ""  # of a group with a mark, without it
    mark: str = ""  # what tells it apart from those of its title; "": no other has it

    @property
    def title(self) -> str:
        """Its whole name."""
        return self.names[0]

    def name_within(self, characters: int) -> str:
        """The longest of its names that fits, else its shortest one, cut.

        Of a title with a mark as much as there is room for beside the mark: that alone would not
        say which operators they are.
        """
        fits = next((name for name in self.names if len(name) <= characters), None)
        room = characters - len(self.mark) - 2
        if self.mark and fits in (None, self.mark) and room >= _LEAST_TITLE:
            return f"{clipped(self.bare_title, room)}, {self.mark}"
        return fits if fits is not None else clipped(self.names[-1], characters)

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
    marks = group_marks(groups)
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
                parts.append(_joined(waiting, total, marks))
                waiting, height = [], 0.0
            if is_kept:
                parts.append(_alone(group, number, marks[number]))
        if waiting:
            parts.append(_joined(waiting, total, marks))
    return parts


def _size(group: FoldedGroup) -> float:
    return max(group.baseline_ns, group.candidate_ns)


def _alone(group: FoldedGroup, number: int, mark: str) -> Part:
    """A group by itself.

    Args:
        group: that is drawn.
        number: its place in the given groups.
        mark: what tells it apart from those of its title; "": no other has it.
    """
    first = group.first
    source = first.sources[0][0] if first.sources else ""
    names = (f"{group.label}, {mark}", f"{group.title}, {mark}", mark)
    return Part(
        names=names if mark else (group.label, group.title),
        bare_title=group.title,
        mark=mark,
        kind=group.kind,
        sides=(group.by_category(0), group.by_category(1)),
        number=number,
        n_kernels=group.n_kernels,
        source=source if source != mark else "",
        module=first.module or "",
    )


def _joined(small: Sequence[tuple[int, FoldedGroup]], total: float, marks: Sequence[str]) -> Part:
    if len(small) == 1:
        ((number, group),) = small
        return _alone(group, number, marks[number])
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
        names=(title,),
        kind=groups[0].kind,
        sides=sides,
        number=None,
        n_kernels=(sum(g.n_kernels[0] for g in groups), sum(g.n_kernels[1] for g in groups)),
        source="",
        module="",
    )
