"""What an alignment leaves over between two matches, and the ties that are made of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile, zip_longest

from profiler_core.analysis.ledger.match import Evidence, Labels, Match, label_items, tie_items
from profiler_core.analysis.ledger.program import Item, Phase


@dataclass(slots=True)
class Gap:
    """The items of both sides between two neighbouring matches of one segment."""

    baseline: Sequence[Item]
    candidate: Sequence[Item]
    around: Sequence[tuple[Item, Item]]  # the matches on either end; at an end of the segment one
    phase: Phase
    match: Match
    labels: Labels
    segment: Sequence[Item] = ()  # all of the baseline's
    ends: tuple[int, int] = (-1, 0)  # numbers of the baseline's items of the matches on either end
    tied: set[int] = field(default_factory=set)  # ids of items

    @property
    def beside_baseline(self) -> list[Item]:
        """The baseline's items of the matches on either end."""
        return [item for item, _ in self.around]

    @property
    def beyond(self) -> Iterator[Item]:
        """The baseline's items behind either end, nearest first, up to what a library computes."""
        before, after = self.ends
        ways = (self.segment[n] for n in range(before, -1, -1)), islice(self.segment, after, None)
        sides = (takewhile(lambda item: not item.is_anchor, way) for way in ways)
        pairs = zip_longest(*(islice(side, 1, None) for side in sides))
        return (item for pair in pairs for item in pair if item is not None)

    @property
    def beside_candidate(self) -> list[Item]:
        """The candidate's items of the matches on either end."""
        return [item for _, item in self.around]

    def untied(self, items: Iterable[Item]) -> list[Item]:
        """Those that started device work and are tied to nothing yet."""
        return [item for item in items if item.units and id(item) not in self.tied]

    def tie(self, baseline: Item, candidate: Item, evidence: Evidence) -> None:
        """Both are the same work."""
        self.tied |= {id(baseline), id(candidate)}
        tie_items(self.match, baseline, candidate, evidence)
        label_items(baseline, candidate, self.labels)

    def leave_out(self, baseline: Item) -> None:
        """The candidate does not do this work."""
        self.tied.add(id(baseline))
        self.match.removed.update(baseline.units)
