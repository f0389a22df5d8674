"""For which rank of a job the others wait, process group by process group.

In a job of several dimensions (dp × tp × pp) only the ranks that share a group with a late rank
wait for it; they come late to their other groups, and the ranks there wait for them in turn. All
but the late rank wait for as much longer in the end. So a rank is awaited for as long as the others
of one of its groups wait for it, on average, and no longer than they wait in all for more than it
does: what it only passes on it has waited itself.

Stages of a pipeline wait for each other by their schedule, each in its own places. So ranks that
send and receive are held against each other only where no group has a rank that comes late.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from profiler_core.analysis.ranks.collective_kinds import POINT_TO_POINT
from profiler_core.analysis.ranks.matching import waiting_by
from profiler_core.analysis.ranks.rank_row import RankRow

# A rank for which less of a step is waited is not late: ranks never arrive at the same instant.
LATE_SHARE = 0.02


@dataclass(frozen=True)
class Awaited:
    """How long others wait for one rank, beyond what it waits itself. Times are ns per step."""

    rank: int
    ns: float  # below 0: it waits for longer than others wait for it
    is_late: bool  # a group other than of stages waits for it, for LATE_SHARE of its step or more
    # The other ranks of the group that waits for it: what they need is what it is held against.
    others: tuple[int, ...]
    group_ns: float  # all waiting in that group, for whichever rank
    share: float  # of group_ns, for this one


@dataclass(frozen=True)
class WaitingGroup:
    """Ranks that join in the same collectives, under whatever names torch has for their groups."""

    ranks: tuple[int, ...]
    made_ns: Mapping[int, float]  # by the rank that came last: what all others waited, per step
    is_of_pairs: bool  # by sends and receives alone, as between the stages of a pipeline


def waiting_groups(calls: pl.DataFrame, n_steps: int) -> tuple[WaitingGroup, ...]:
    """Of two ranks and more that are here.

    Args:
        calls: of `matched`.
        n_steps: over which times are means per step.
    """
    shared = calls.filter(pl.col("is_shared"))
    members = shared.group_by("group").agg(
        pl.col("rank").unique().sort(),
        pl.col("kind").is_in(list(POINT_TO_POINT)).all().alias("is_of_pairs"),
    )
    made: dict[str, dict[int, float]] = {}
    waited = waiting_by(shared, "group", "rank", "last_rank")
    of_groups = waited.group_by("group", "last_rank").agg(pl.col("union_ns").sum())
    for name, rank, ns in of_groups.iter_rows():
        made.setdefault(name, {})[rank] = ns / max(1, n_steps)
    groups: dict[tuple[int, ...], WaitingGroup] = {}
    for name, listed, is_of_pairs in members.sort("group").iter_rows():
        ranks = tuple(listed)
        before = groups.get(ranks, WaitingGroup(ranks, {}, is_of_pairs=True))
        sums = {
            rank: before.made_ns.get(rank, 0.0) + made.get(name, {}).get(rank, 0.0)
            for rank in ranks
        }
        groups[ranks] = WaitingGroup(ranks, sums, is_of_pairs and before.is_of_pairs)
    return tuple(group for group in groups.values() if len(group.ranks) > 1)


def awaited(rows: Sequence[RankRow], groups: Sequence[WaitingGroup]) -> dict[int, Awaited]:
    """How long each rank is awaited, by rank.

    Args:
        rows: of all ranks.
        groups: of the same ranks.
    """
    waited_ns = {row.rank: row.waited_ns for row in rows}
    of_rank: dict[int, list[WaitingGroup]] = {row.rank: [] for row in rows}
    for group in groups:
        for rank in group.ranks:
            of_rank[rank].append(group)
    return {row.rank: _of_rank(row, of_rank[row.rank], waited_ns) for row in rows}


def most_awaited(of_ranks: Mapping[int, Awaited]) -> Awaited:
    """The rank that is awaited most, the lowest of equal ones; a job has at least one rank."""
    return max(of_ranks.values(), key=lambda each: (each.is_late, each.ns, -each.rank))


def connected(rank: int, groups: Sequence[WaitingGroup]) -> tuple[int, ...]:
    """All other ranks that wait for this one in the end, through the ranks of further groups.

    Args:
        rank: whose.
        groups: of all ranks.
    """
    ranks, left = {rank}, groups
    while joined := [group for group in left if not ranks.isdisjoint(group.ranks)]:
        left = [group for group in left if ranks.isdisjoint(group.ranks)]
        ranks.update(*(group.ranks for group in joined))
    return tuple(sorted(ranks - {rank}))


def _of_rank(
    row: RankRow, groups: Sequence[WaitingGroup], waited_ns: Mapping[int, float]
) -> Awaited:
    if not groups:
        others = tuple(rank for rank in waited_ns if rank != row.rank)
        return Awaited(row.rank, -row.waited_ns, False, others, 0.0, 0.0)
    each = [(_awaited_ns(row, group, waited_ns), group) for group in groups]
    least_ns = LATE_SHARE * row.step_ns
    late = [(ns, group) for ns, group in each if not group.is_of_pairs and ns >= least_ns]
    ns, group = max(late or each, key=lambda pair: (pair[0], len(pair[1].ranks)))
    total_ns = sum(group.made_ns.values())
    return Awaited(
        rank=row.rank,
        ns=ns,
        is_late=bool(late),
        others=tuple(rank for rank in group.ranks if rank != row.rank),
        group_ns=total_ns,
        share=group.made_ns[row.rank] / total_ns if total_ns else 0.0,
    )


def _awaited_ns(row: RankRow, group: WaitingGroup, waited_ns: Mapping[int, float]) -> float:
    others = [waited_ns[rank] for rank in group.ranks if rank != row.rank]
    for_it_ns = group.made_ns[row.rank] / len(others)
    if group.is_of_pairs:
        return for_it_ns - row.waited_ns
    return min(for_it_ns, fmean(others) - row.waited_ns)
