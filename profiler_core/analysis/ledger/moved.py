"""Ties between items that stand in another order in the candidate than in the baseline.

The engine and Inductor's scheduler move what nobody waits for, and a fused kernel waits for all
that goes into it. Each rule looks some matches or items to either side of where a gap is.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from profiler_core.analysis.ledger.match import Evidence, Labels, Match, label_items, tie_items
from profiler_core.analysis.ledger.program import Item
from profiler_core.analysis.ledger.worth import NAMED_IN_KERNEL, worth_of_names

_REACH_LINES = 400  # nodes to look ahead and back for one source line in a backward
_REACH = 8  # items to look ahead and back for a kernel's name
_NEIGHBOURS = 4  # matches to look back for the beginning of a composite


def reach_lines(
    a: Sequence[Item],
    b: Sequence[Item],
    pairs: Sequence[tuple[int, int]],
    match: Match,
    labels: Labels,
) -> None:
    """A gradient that stands apart from the rest of its line: tie it to the nearest of the line.

    The engine and Inductor's scheduler move what nobody waits for: sums for biases, scatters for
    embeddings.
    """
    for way in both_ways(a, b, pairs):
        numbers: dict[str, list[int]] = defaultdict(list)
        for number, other in enumerate(way.others):
            for label in other.labels if other.units else ():
                numbers[label].append(number)
        for item, at in way.left(match):
            centre = way.centre(at)
            near = [
                number
                for label in item.labels
                for number in numbers.get(label, ())
                if abs(number - centre) <= _REACH_LINES
                and not (item.is_anchor and way.others[number].op != item.op)
            ]
            if near:
                nearest = min(near, key=lambda number: (abs(number - centre), number))
                way.tie(match, item, way.others[nearest], "source line", labels)


def reach(
    a: Sequence[Item],
    b: Sequence[Item],
    pairs: Sequence[tuple[int, int]],
    match: Match,
    labels: Labels,
) -> None:
    """Kernels known by name only: look some operators further, past what a library computes.

    A fused kernel waits for all that goes into it: the normalisations of both branches of a
    residual block are computed behind the second branch's convolution.
    """
    if not any(item.by_kernel_name for item in (*a, *b)):
        return
    for way in both_ways(a, b, pairs):
        for item, at in way.left(match):
            if item.is_anchor:
                whole = way.composite_before(item, at)
                if whole is not None:
                    way.tie(match, item, whole, "composite", None)
            else:
                named = way.named_near(item, at)
                if named is not None:
                    way.tie(match, item, named, "kernel name", labels)


def reach_libraries(a: Sequence[Item], b: Sequence[Item], match: Match) -> None:
    """What libraries compute, left over on both sides in equal numbers: in order.

    Where the products of query and of key and value changed places, one of them stands across the
    others' match.
    """
    if not any(item.library_kernel for item in (*a, *b)):
        return
    waiting: tuple[dict[str, list[Item]], dict[str, list[Item]]] = (
        defaultdict(list),
        defaultdict(list),
    )
    for side, items in enumerate((a, b)):
        done = _done(match, side)
        for item in items:
            if item.units and item.is_anchor and not done.issuperset(item.units):
                waiting[side][item.op].append(item)
    for op, lefts in waiting[0].items():
        rights = waiting[1].get(op, [])
        if len(lefts) == len(rights):
            for left, right in zip(lefts, rights, strict=True):
                tie_items(match, left, right, "position")


@dataclass(frozen=True, slots=True)
class Way:
    """One side looking for partners on the other; `facing` are the matches, this side's first."""

    items: Sequence[Item]
    others: Sequence[Item]
    facing: Sequence[tuple[int, int]]
    is_candidate: bool

    def left(self, match: Match) -> Iterator[tuple[Item, int]]:
        """What is tied to nothing yet, with the number of the match behind it."""
        done = _done(match, int(self.is_candidate))
        numbers = [number for number, _ in self.facing]
        for number, item in enumerate(self.items):
            if item.units and not done.issuperset(item.units):
                yield item, bisect_left(numbers, number)

    def pair(self, own: int, other: int) -> tuple[int, int]:
        """The numbers of an item of this side and one of the other, the baseline's first."""
        return (other, own) if self.is_candidate else (own, other)

    def centre(self, at: int) -> int:
        """Where the match is on the other side."""
        return self.facing[at][1] if at < len(self.facing) else len(self.others)

    def composite_before(self, part: Item, at: int) -> Item | None:
        """A composite that began some matches before and has this operator in it."""
        before = [self.others[number] for _, number in self.facing[max(0, at - _NEIGHBOURS) : at]]
        wholes = (item for item in reversed(before) if item.is_composite and part.op in item.inner)
        whole = next(wholes, None)
        return whole if whole is not None and whole.units else None

    def named_near(self, item: Item, at: int) -> Item | None:
        """The nearest that names it, or that it names; only then one of another size."""
        centre = self.centre(at)
        near = sorted(
            range(max(0, centre - _REACH), min(len(self.others), centre + _REACH)),
            key=lambda number: (abs(number - centre), -number),
        )
        others = [self.others[number] for number in near]
        named = [o for o in others if o.units and not o.is_anchor and _named_in(item, o)]
        return max(
            named,
            key=lambda other: min(worth_of_names(item, other), NAMED_IN_KERNEL),
            default=None,
        )

    def tie(
        self, match: Match, item: Item, other: Item, evidence: Evidence, labels: Labels | None
    ) -> None:
        """The baseline's goes first."""
        left, right = (other, item) if self.is_candidate else (item, other)
        tie_items(match, left, right, evidence)
        if labels is not None:
            label_items(left, right, labels)


def both_ways(
    a: Sequence[Item], b: Sequence[Item], pairs: Sequence[tuple[int, int]]
) -> Iterator[Way]:
    """The baseline looking at the candidate, then the candidate at the baseline."""
    yield Way(a, b, list(pairs), is_candidate=False)
    yield Way(b, a, [(j, i) for i, j in pairs], is_candidate=True)


def _done(match: Match, side: int) -> set[int]:
    return {unit for tie in match.ties for unit in (tie.candidate if side else tie.baseline)}


def _named_in(x: Item, y: Item) -> bool:
    return (x.by_kernel_name or y.by_kernel_name) and worth_of_names(x, y) > 0
