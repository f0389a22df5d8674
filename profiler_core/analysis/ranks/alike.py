"""Groups of ranks that behave alike: thousands of ranks are a few kinds and some that stand out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profiler_core.analysis.ranks.process_groups import Dimension
from profiler_core.analysis.ranks.rank_row import RankRow

# Ranks whose times all differ by less than this share of the step behave alike.
ALIKE_SHARE = 0.02
MOST_GROUPS = 12
TIMES = ("compute_ns", "exposed_communication_ns", "exposed_copy_ns", "idle_ns", "waited_ns")
_LISTED = 4  # runs of neighbouring ranks that are spelt out


@dataclass(frozen=True)
class AlikeRanks:
    """Ranks that behave alike, their means in ns per step; the largest group comes first.

    where: coordinates that all of them share and no other rank has ("pp 3"), else the ranks.
    """

    ranks: tuple[int, ...]
    where: str
    step_ns: float
    compute_ns: float
    exposed_communication_ns: float
    exposed_copy_ns: float
    idle_ns: float
    waited_ns: float
    made_wait_ns: float


def alike_ranks(rows: Sequence[RankRow], mesh: Sequence[Dimension]) -> tuple[AlikeRanks, ...]:
    """The ranks in groups; one group where all are alike.

    Ranks are taken in the order of their compute, and each joins the first group from whose first
    rank none of TIMES differs by ALIKE_SHARE of the mean step. What is beyond MOST_GROUPS groups is
    put together in the last one.

    Args:
        rows: of the ranks.
        mesh: by whose coordinates a group is named.
    """
    if not rows:
        return ()
    order = sorted(range(len(rows)), key=lambda i: (rows[i].compute_ns, rows[i].rank))
    values = np.array([[getattr(row, name) for name in TIMES] for row in rows])
    limit = ALIKE_SHARE * float(np.mean([row.step_ns for row in rows]))
    centres: list[int] = []
    members: list[list[int]] = []
    for i in order:
        distances = [np.abs(values[i] - values[centre]).max() for centre in centres]
        joined = next((n for n, distance in enumerate(distances) if distance < limit), None)
        if joined is None and len(centres) == MOST_GROUPS:
            joined = MOST_GROUPS - 1
        if joined is None:
            centres.append(i)
            members.append([i])
        else:
            members[joined].append(i)
    groups = [_group([rows[i] for i in group], rows, mesh) for group in members]
    return tuple(sorted(groups, key=lambda group: (-len(group.ranks), group.ranks)))


def _group(
    own: Sequence[RankRow], rows: Sequence[RankRow], mesh: Sequence[Dimension]
) -> AlikeRanks:
    ranks = tuple(sorted(row.rank for row in own))

    def mean(name: str) -> float:
        return float(np.mean([getattr(row, name) for row in own]))

    return AlikeRanks(
        ranks=ranks,
        where=_where(ranks, [row.rank for row in rows], mesh),
        step_ns=mean("step_ns"),
        compute_ns=mean("compute_ns"),
        exposed_communication_ns=mean("exposed_communication_ns"),
        exposed_copy_ns=mean("exposed_copy_ns"),
        idle_ns=mean("idle_ns"),
        waited_ns=mean("waited_ns"),
        made_wait_ns=mean("made_wait_ns"),
    )


def _where(ranks: Sequence[int], every: Sequence[int], mesh: Sequence[Dimension]) -> str:
    """What tells these ranks from all others, in as few coordinates as it takes."""
    if len(ranks) == len(every):
        return "all ranks"
    shared: list[Dimension] = []
    for dimension in mesh:
        places = {dimension.coordinates.get(rank) for rank in ranks}
        if len(places) == 1 and None not in places:
            shared.append(dimension)
    own = set(ranks)
    for n in range(1, len(shared) + 1):
        for chosen in _of_length(shared, n):
            if own == {rank for rank in every if _at(chosen, rank) == _at(chosen, ranks[0])}:
                return ", ".join(str(dimension.at(ranks[0])) for dimension in chosen)
    places_text = ", ".join(str(dimension.at(ranks[0])) for dimension in shared)
    return spelt(ranks) + (f" (in {places_text})" if places_text else "")


def _of_length(dimensions: Sequence[Dimension], n: int) -> list[tuple[Dimension, ...]]:
    if n == 1:
        return [(dimension,) for dimension in dimensions]
    return [
        (first, *rest)
        for i, first in enumerate(dimensions)
        for rest in _of_length(dimensions[i + 1 :], n - 1)
    ]


def _at(dimensions: Sequence[Dimension], rank: int) -> tuple[int | None, ...]:
    return tuple(dimension.coordinates.get(rank) for dimension in dimensions)


def spelt(ranks: Sequence[int]) -> str:
    """Ranks in words: "rank 5", "ranks 0 to 7, 9 and 300 others"."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    parts = [f"{run[0]} to {run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs[:_LISTED]]
    n_more = sum(map(len, runs[_LISTED:]))
    more = f" and {n_more} others" if n_more else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(parts)}{more}"
