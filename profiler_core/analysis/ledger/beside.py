"""Groups of several ledgers of one baseline, put in one order by the work that they do."""

from collections.abc import Sequence

from profiler_core.analysis.ledger.folding import FoldedGroup


def in_the_order_of(
    first: Sequence[FoldedGroup], other: Sequence[FoldedGroup]
) -> tuple[FoldedGroup, ...]:
    """`other` in the order of `first`, so that the baseline's sides of both look alike.

    Groups are the same work where the baseline's operators, the phase and the source lines are.
    What `first` does not have comes last, in its own order: candidates fuse differently.
    """
    rank: dict[object, int] = {}
    for position, group in enumerate(first):
        rank.setdefault(_work(group), position)
    return tuple(sorted(other, key=lambda group: rank.get(_work(group), len(first))))


def place_of_the_same(group: FoldedGroup, groups: Sequence[FoldedGroup]) -> int | None:
    """Where the same work stands in another ledger's groups; None: it does not have it so."""
    work = _work(group)
    return next(
        (position for position, candidate in enumerate(groups) if _work(candidate) == work), None
    )


def _work(group: FoldedGroup) -> object:
    first = group.first
    operators = tuple(sorted(each.op for each in first.baseline.operators))
    return operators, first.phase, tuple(label for label, _ in first.sources)
