"""Work that one rank of a job needs longer for than all others."""

from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.analysis.ranks.awaited import LATE_SHARE
from profiler_core.analysis.ranks.job_ledger import SlowerGroups
from profiler_core.analysis.what_if.change import Change
from profiler_core.units import format_duration

_NAMED = 3


def slow_on_one_rank(facts: Facts) -> Finding | None:
    """Which groups of the ledger are slower on one rank only, by how much, and on which.

    Where the others wait for that rank, the finding of the late rank has the time at stake.
    """
    if facts.job_ledger is None:
        return None
    by_rank: dict[int, list[SlowerGroups]] = {}
    for slower in facts.job_ledger.slower(1):
        by_rank.setdefault(slower.spread.slowest, []).append(slower)
    more_ns = {rank: sum(s.spread.excess_ns for s in groups) for rank, groups in by_rank.items()}
    rank = max(more_ns, key=lambda number: (more_ns[number], -number), default=None)
    if rank is None or more_ns[rank] < LATE_SHARE * facts.step_ns:
        return None
    path = facts.summary.critical
    is_told = path is not None and path.late is not None and path.late.rank == rank
    groups = by_rank[rank]
    named = ", ".join(map(_more, groups[:_NAMED]))
    further = f" and {len(groups) - _NAMED} more" if len(groups) > _NAMED else ""
    return Finding(
        key="slow_on_one_rank",
        change=Change("no_late_rank", rank=rank),
        title=f"Rank {rank} alone needs longer for some of its work.",
        evidence=f"{format_duration(more_ns[rank])} {facts.span} more than the median of the other "
        f"ranks, its kernels as they cost with no collective beside them, if any runs so: {named}"
        f"{further}.",
        advice=_advice(rank, only_there=all(group.is_only_there for group in groups)),
        page="fusion",
        items=facts.group_items(slower.group for slower in groups if slower.group is not None),
        prediction=None
        if is_told
        else facts.at_most(more_ns[rank], "whether the other ranks wait for it is not known"),
        weight="note" if is_told else "by time",
    )


def _more(slower: SlowerGroups) -> str:
    times = f"{slower.n} × " if slower.n > 1 else ""
    only = " (only there)" if slower.is_only_there else ""
    return f"{times}{slower.title} {format_duration(slower.spread.excess_ns)}{only}"


def _advice(rank: int, *, only_there: bool) -> str:
    if only_there:
        return f"See what rank {rank} computes that no other does: its stage, logging, a check."
    return (
        f"See whether rank {rank} has more to do (batch, sequence lengths, shards, experts); if "
        "not, the clocks of its GPU and who else uses it."
    )


PLACE = 110
RULES: tuple[Rule, ...] = (slow_on_one_rank,)
