"""From ties to groups: each unit of either side in exactly one."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from profiler_core.analysis.ledger.match import Evidence, Match
from profiler_core.analysis.ledger.program import Program


@dataclass(frozen=True)
class Members:
    """Units that belong together, and what says so."""

    baseline: tuple[int, ...]
    candidate: tuple[int, ...]
    evidence: frozenset[Evidence]


Member = tuple[int, int]  # side (0 baseline, 1 candidate), unit


def connected(
    units: tuple[Iterable[int], Iterable[int]],
    programs: tuple[Program, Program],
    match: Match,
) -> list[Members]:
    """The groups, in order of their first unit.

    Units tied to nothing are groups of their own, so the groups partition both sides.
    """
    parent: dict[Member, Member] = {}

    def find(member: Member) -> Member:
        root = member
        while (above := parent.setdefault(root, root)) != root:
            root = above
        while parent[member] != root:
            parent[member], member = root, parent[member]
        return root

    busy = tuple(set(side) for side in units)
    for side in (0, 1):
        for a, b in programs[side].ties:
            if a in busy[side] and b in busy[side]:
                parent[find((side, a))] = find((side, b))
    evidence: dict[Member, set[Evidence]] = defaultdict(set)
    for tie in match.ties:
        first = (0, tie.baseline[0])
        for member in [*((0, u) for u in tie.baseline[1:]), *((1, u) for u in tie.candidate)]:
            parent[find(member)] = find(first)
    _serve(programs, busy, parent, find)
    for tie in match.ties:
        evidence[find((0, tie.baseline[0]))].add(tie.evidence)
    grouped: dict[Member, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side in (0, 1):
        for unit in sorted(busy[side]):
            grouped[find((side, unit))][side].append(unit)
    return [
        Members(tuple(a), tuple(b), frozenset(evidence[root])) for root, (a, b) in grouped.items()
    ]


def undecided(members: Iterable[Members], match: Match) -> tuple[set[int], set[int]]:
    """Units of either side that a unit of another group explains equally well."""
    group_of: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for number, group in enumerate(members):
        group_of[0].update(dict.fromkeys(group.baseline, number))
        group_of[1].update(dict.fromkeys(group.candidate, number))
    units: tuple[set[int], set[int]] = (set(), set())
    for doubt in match.doubts:
        groups = {
            group_of[side].get(unit)
            for side in (0, 1)
            for unit in (*doubt.units[side], *doubt.others[side])
        }
        if len(groups) > 1:
            units[0].update(doubt.units[0])
            units[1].update(doubt.units[1])
    return units


def _serve(
    programs: tuple[Program, Program],
    busy: tuple[set[int], ...],
    parent: dict[Member, Member],
    find: Callable[[Member], Member],
) -> None:
    """A kernel that is matched to nothing, but does a part of a library's operator, joins it."""
    sides: dict[Member, set[int]] = defaultdict(set)
    for side in (0, 1):
        for unit in busy[side]:
            sides[find((side, unit))].add(side)
    for side in (0, 1):
        for unit, target in programs[side].serves.items():
            if unit in busy[side] and target in busy[side]:
                root = find((side, unit))
                if sides[root] == {side} and len(sides[find((side, target))]) == 2:
                    parent[root] = find((side, target))
