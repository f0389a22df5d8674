"""The step of a job, divided along the rank that the others wait for.

On that rank nothing waits, so its step is the critical path: its work, what collectives need once
it has come, its idle time. Where it needs more than the other ranks do, it is late, and the more is
told apart. Kernels that a collective beside them slows count as what they cost alone; what they
took longer is a part of its own. All ns per step, on the profiler's clock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import polars as pl

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.intervals import merge
from profiler_core.analysis.ranks.awaited import (
    LATE_SHARE,
    Awaited,
    WaitingGroup,
    awaited,
    connected,
    most_awaited,
)
from profiler_core.analysis.ranks.exchanges import Exchange, exchanges
from profiler_core.analysis.ranks.kernel_times import COMMUNICATION
from profiler_core.analysis.ranks.pipeline import bubble_ns
from profiler_core.analysis.ranks.rank_row import RankRow, step_of_job
from profiler_core.analysis.ranks.rank_summary import RankSummary
from profiler_core.analysis.ranks.rank_work import (
    RankWork,
    longer_kernels,
    more_work,
    work_of_ranks,
)
from profiler_core.analysis.ranks.slow_clock import SlowClock, slow_clock
from profiler_core.analysis.ranks.slowed_kernels import SlowedKernel, slowed_kernels
from profiler_core.analysis.telemetry.rank_clocks import RankClock


@dataclass(frozen=True)
class Lateness:
    """What the late rank needs more than the others, ns per step.

    Work more than the rank of median work, below 0 in a category of which it has less; idle time
    more than the median.
    """

    rank: int
    work_ns: Mapping[str, float]  # by category
    idle_ns: Mapping[str, float]  # by cause
    stalled_ns: float = 0.0  # of the idle time, in long pauses of its host, profiled or not
    beyond_host_ns: float = 0.0  # idle for longer still, while the others' hosts are as busy
    # Kernels that the rank of median work runs as often: their time, and what they last longer.
    shared_kernels_ns: float = 0.0
    longer_kernels_ns: float = 0.0
    clock: SlowClock | None = None  # that makes its kernels longer; None: no clock, or none known

    def at_clocks(self, clocks: Sequence[RankClock]) -> "Lateness":
        """The same with what a lower clock of its GPU costs (`slow_clock`).

        Args:
            clocks: of all ranks that were sampled.
        """
        slow = slow_clock(self.rank, self.shared_kernels_ns, self.longer_kernels_ns, clocks)
        if slow is not None:
            slow = replace(slow, cost_ns=min(slow.cost_ns, self.total_work_ns))
        return replace(self, clock=slow if slow is not None and slow.cost_ns > 0 else None)

    @property
    def total_work_ns(self) -> float:
        """More work of all categories."""
        return sum(self.work_ns.values())

    @property
    def total_idle_ns(self) -> float:
        """Longer idle time of all causes."""
        return sum(self.idle_ns.values())

    @property
    def total_ns(self) -> float:
        """All that the others wait for it."""
        return self.total_work_ns + self.total_idle_ns


@dataclass(frozen=True)
class CriticalPath:
    """work, slowed, overlap, idle, waited and late sum to `step_ns`.

    step_ns is the mean over the steps of the slowest rank; `work_ns` and `idle_ns` are without what
    `late` holds.
    """

    rank: int
    # Whose work `work_ns` is: the critical rank, or where it works more than the others the rank
    # of median work. Kernels and the ledger of the job are this rank's.
    shown: int
    n_ranks: int
    step_ns: float
    work_ns: Mapping[str, float]  # by category; communication: transfers alone
    slowed_ns: float  # what kernels took longer beside transfers
    slowed_by_waiting_ns: float  # … beside collectives that waited
    overlap_ns: float  # below 0: what streams ran at the same time
    idle_ns: Mapping[str, float]  # by cause
    waited_ns: Mapping[int, float]  # beside which nothing is computed, by the rank that came last
    exposed_transfer_ns: float
    exposed_copy_ns: float
    late: Lateness | None
    n_late_gaps: float  # per step, as `Summary.n_late_gaps`
    own_gap_ns: float
    # What a step takes the host without calls that wait for the device: its own, the others' median
    host_ns: float
    others_host_ns: float
    waited_for_hosts_ns: float  # of `waited_ns`, at most: as long as the awaited device was idle
    exchanges: tuple[Exchange, ...]  # of `rank`, in the order of a step
    slowed_kernels: tuple[SlowedKernel, ...]  # of `rank`, by collectives beside them
    # Of the idle time and of what is waited: what the schedule of a pipeline leaves at least.
    bubble_ns: float = 0.0

    def at_clocks(self, clocks: Sequence[RankClock]) -> "CriticalPath":
        """The same with what a lower clock of the late rank's GPU costs.

        Args:
            clocks: of all ranks that were sampled.
        """
        return self if self.late is None else replace(self, late=self.late.at_clocks(clocks))

    @property
    def late_work_ns(self) -> float:
        """What the late rank works more; 0 where none is late."""
        return self.late.total_work_ns if self.late is not None else 0.0

    @property
    def busy_ns(self) -> float:
        """What devices work: all of the step but idle time and waiting, the late work included."""
        work_ns = sum(self.work_ns.values()) + self.late_work_ns
        return work_ns + self.slowed_ns + self.overlap_ns

    @property
    def late_in_bubble_ns(self) -> float:
        """Of what the late rank needs more: what fills the bubble that its schedule leaves anyhow.

        Without it the step is no shorter. A stage whose idle time and waiting are less than the
        bubble has filled the rest; all ns per step, profiled.
        """
        if self.late is None:
            return 0.0
        left = sum(self.idle_ns.values()) + sum(self.waited_ns.values()) + self.slowed_by_waiting_ns
        return min(self.late.total_ns, max(0.0, self.bubble_ns - left))

    @property
    def late_idle_in_bubble_ns(self) -> float:
        """Of that its host's: a bubble is idle time, so it holds this before it holds work."""
        return min(self.late_in_bubble_ns, self.late.total_idle_ns) if self.late else 0.0

    @property
    def device_ns(self) -> float:
        """What the rank's device needs for a step, however fast hosts and other ranks are.

        Its work with what transfers slow, and the idle time that no host causes.
        """
        waiting = sum(self.waited_ns.values()) + self.slowed_by_waiting_ns
        late_idle = self.late.total_idle_ns if self.late is not None else 0.0
        return self.step_ns - _of_hosts_ns(self.idle_ns) - waiting - late_idle


def critical_path(
    ranks: Sequence[RankSummary],
    rows: Sequence[RankRow],
    calls: pl.DataFrame,
    names: Sequence[str],
    groups: Sequence[WaitingGroup],
) -> tuple[CriticalPath | None, CriticalPath | None]:
    """Divide the job's step along two ranks: the awaited one, and one that works more than it.

    The first is None for a single rank, without GPUs, and where ranks share no step; the second
    where the awaited rank works most, or no rank works `LATE_SHARE` of the step more than those
    that wait for it in the end.

    Args:
        ranks: that could be read.
        rows: of the same ranks.
        calls: of `matched`, of these ranks and steps.
        names: of the steps that all ranks have.
        groups: of `waiting_groups`, of these calls.
    """
    if len(ranks) < 2 or not names or not all(rank.on_gpu for rank in ranks):
        return None, None
    row_of = {row.rank: row for row in rows}
    work = work_of_ranks(ranks, names)
    of_ranks = awaited(rows, groups)
    late = most_awaited(of_ranks)
    path = _path_along(row_of[late.rank], late, ranks, rows, calls, names, work)
    busiest = max(rows, key=lambda row: (work[row.rank].total_ns, -row.rank))
    others = connected(busiest.rank, groups)
    if busiest.rank == late.rank or not others:
        return path, None
    by_work = replace(of_ranks[busiest.rank], others=others)
    if not _late_work(work, busiest, by_work, is_awaited=False)[1]:
        return path, None
    return path, _path_along(busiest, by_work, ranks, rows, calls, names, work)


def _path_along(
    chosen: RankRow,
    waited_for: Awaited,
    ranks: Sequence[RankSummary],
    rows: Sequence[RankRow],
    calls: pl.DataFrame,
    names: Sequence[str],
    work: Mapping[int, RankWork],
) -> CriticalPath:
    """Divide the job's step along one rank, held against the others that wait for it."""
    by_rank = {summary.rank: summary for summary in ranks}
    own, others = by_rank[chosen.rank], [by_rank[rank] for rank in waited_for.others]
    n = len(names)

    slowed_ns = work[chosen.rank].slowed_ns
    is_awaited = waited_for.ns >= LATE_SHARE * chosen.step_ns
    shown, late_work = _late_work(work, chosen, waited_for, is_awaited=is_awaited)
    work_ns = dict(work[shown].by_category)
    idle_ns = _idle_by_cause(own, chosen.idle_ns)
    others_idle_ns = median(row.idle_ns for row in rows if row.rank in waited_for.others)
    more_idle_ns = (
        _more_idle_ns(own, others, chosen.idle_ns - others_idle_ns) if is_awaited else 0.0
    )
    share = more_idle_ns / chosen.idle_ns if chosen.idle_ns else 0.0
    late_idle = {cause: ns * share for cause, ns in idle_ns.items()}
    own_calls = calls.filter(pl.col("rank") == chosen.rank)
    waited_ns = {rank: ns / n for rank, ns in _exposed_waiting(own_calls).items()}
    transfer_ns = _transfer_ns(own_calls) / n
    work_ns[COMMUNICATION] = _transfer_ns(calls.filter(pl.col("rank") == shown)) / n
    exposed_transfer_ns = chosen.exposed_communication_ns - sum(waited_ns.values())
    by_waiting_ns = slowed_ns * _waiting_share(
        hidden_transfer_ns=transfer_ns - exposed_transfer_ns,
        hidden_waiting_ns=chosen.waited_ns - sum(waited_ns.values()),
    )
    late = None
    if late_work or any(late_idle.values()):
        stalled_ns = min(sum(late_idle.values()), _stalls_ns(own, others))
        shared_ns, longer_ns = longer_kernels(work[chosen.rank], work[shown])
        late = Lateness(
            chosen.rank,
            late_work,
            _nonzero(late_idle),
            stalled_ns,
            max(0.0, chosen.idle_ns - others_idle_ns - more_idle_ns),
            shared_ns,
            longer_ns,
        )
    idle_ns = {cause: ns - late_idle[cause] for cause, ns in idle_ns.items()}
    parts = sum(work_ns.values()) + sum(late_work.values())
    overlap_ns = chosen.step_ns - parts - slowed_ns - chosen.idle_ns - sum(waited_ns.values())
    # The job's step ends with its slowest rank.
    slowest_ns = step_of_job(rows)
    idle_ns["tail"] = idle_ns.get("tail", 0.0) + slowest_ns - chosen.step_ns
    return CriticalPath(
        rank=chosen.rank,
        shown=shown,
        n_ranks=len(ranks),
        step_ns=slowest_ns,
        work_ns=_in_order(work_ns),
        slowed_ns=slowed_ns - by_waiting_ns,
        slowed_by_waiting_ns=by_waiting_ns,
        overlap_ns=overlap_ns,
        idle_ns=_nonzero(idle_ns),
        waited_ns=waited_ns,
        exposed_transfer_ns=exposed_transfer_ns,
        exposed_copy_ns=chosen.exposed_copy_ns,
        late=late,
        n_late_gaps=own.idle.n_late / max(1, len(own.steps)) if own.idle else 0.0,
        own_gap_ns=own.idle.own_gap_ns if own.idle else 0.0,
        host_ns=own.host_busy_ns,
        others_host_ns=median(other.host_busy_ns for other in others),
        waited_for_hosts_ns=_waited_for_hosts_ns(by_rank, rows, waited_ns),
        exchanges=exchanges(own_calls, n),
        slowed_kernels=slowed_kernels(ranks, chosen.rank, names),
        bubble_ns=bubble_ns(
            chosen.rank,
            {summary.rank: summary.stage for summary in ranks},
            {rank: own_work.by_category for rank, own_work in work.items()},
        ),
    )


def _late_work(
    work: Mapping[int, RankWork], chosen: RankRow, waited_for: Awaited, *, is_awaited: bool
) -> tuple[int, dict[str, float]]:
    """The rank whose work is shown, and what the critical rank works more than that, by category.

    More work is late work even where the others' hosts make it wait as long elsewhere.
    """
    typical, more = more_work(work, chosen.rank, waited_for.others)
    more_ns = sum(more.values())
    if more_ns > 0 and (is_awaited or more_ns >= LATE_SHARE * chosen.step_ns):
        return typical, more
    return chosen.rank, {}


def _waited_for_hosts_ns(
    by_rank: Mapping[int, RankSummary], steps: Sequence[RankRow], waited_ns: Mapping[int, float]
) -> float:
    return sum(
        min(waited_ns.get(row.rank, 0.0), _host_idle_ns(by_rank[row.rank], row.idle_ns))
        for row in steps
    )


def _host_idle_ns(rank: RankSummary, idle_ns: float) -> float:
    return _of_hosts_ns(_idle_by_cause(rank, idle_ns))


def _of_hosts_ns(idle_ns: Mapping[str, float]) -> float:
    """The idle time that a host causes, of idle times by cause."""
    return sum(ns for cause, ns in idle_ns.items() if cause.startswith("host_"))


def _more_idle_ns(late: RankSummary, others: Sequence[RankSummary], longer_ns: float) -> float:
    """How much of a longer idle time is the doing of the late rank's host, per step.

    A rank that waits is never idle, however slow its own host is: so what the late rank's host
    costs is only what its range of a step exceeds the time that the others' hosts are busy, or the
    long pauses that theirs do not make.

    Args:
        late: the rank.
        others: that wait for it.
        longer_ns: by how much it idles for longer than the median of the others.
    """
    slower_ns = late.host_ns - median(other.host_busy_ns for other in others)
    return max(0.0, min(longer_ns, max(slower_ns, _stalls_ns(late, others))))


def _stalls_ns(late: RankSummary, others: Sequence[RankSummary]) -> float:
    """The long pauses of the late rank's host beyond the median of the others', per step."""
    return max(0.0, late.host_stalls_ns - median(other.host_stalls_ns for other in others))


def _waiting_share(hidden_transfer_ns: float, hidden_waiting_ns: float) -> float:
    """How much of what slowed the kernels beside collectives was waiting, by its time there."""
    waiting_ns, transfer_ns = max(0.0, hidden_waiting_ns), max(0.0, hidden_transfer_ns)
    return waiting_ns / (waiting_ns + transfer_ns) if waiting_ns + transfer_ns else 0.0


def _idle_by_cause(rank: RankSummary, idle_ns: float) -> dict[str, float]:
    """The rank's idle time per step, in the proportions of its causes."""
    causes = rank.idle.by_cause_ns if rank.idle else {}
    total = sum(causes.values())
    if not total:
        return {"other": idle_ns}
    return {cause: idle_ns * ns / total for cause, ns in causes.items()}


def _transfer_ns(calls: pl.DataFrame) -> float:
    waiting = pl.when("is_shared").then("wait_ns").otherwise(0)
    return float(calls.select((pl.col("dur_ns") - waiting).sum()).item())


def _exposed_waiting(calls: pl.DataFrame) -> dict[int, float]:
    """Instants in which a rank waits and neither computes nor transfers, by the rank waited for.

    Args:
        calls: of one rank.
    """
    segments = (
        calls.explode("exposed_from_ns", "exposed_for_ns")
        .drop_nulls("exposed_from_ns")
        .with_columns(
            wait_until=pl.col("ts_ns") + pl.when("is_shared").then("wait_ns").otherwise(0),
            start=pl.col("ts_ns") + pl.col("exposed_from_ns"),
        )
        .with_columns(end=pl.col("start") + pl.col("exposed_for_ns"))
    )
    bound = pl.col("wait_until").clip(pl.col("start"), pl.col("end"))
    taken = merge(segments.select(start=bound, end="end"))
    waiting = segments.select("last_rank", start="start", end=bound).filter(
        pl.col("end") > pl.col("start")
    )
    exposed: dict[int, float] = {}
    # Longest first: where it waits for two ranks at once, it is the one for which it waits longer.
    totals = waiting.group_by("last_rank").agg((pl.col("end") - pl.col("start")).sum().alias("ns"))
    for rank in totals.sort("ns", "last_rank", descending=[True, False])["last_rank"]:
        before = _length(taken)
        own = waiting.filter(pl.col("last_rank") == rank).select("start", "end")
        taken = merge(pl.concat([taken, own]))
        exposed[int(rank)] = float(_length(taken) - before)
    return {rank: ns for rank, ns in exposed.items() if ns}


def _length(merged: pl.DataFrame) -> int:
    return int((merged["end"] - merged["start"]).sum())


def _nonzero(parts: Mapping[str, float]) -> dict[str, float]:
    return {name: ns for name, ns in parts.items() if ns}


def _in_order(work_ns: Mapping[str, float]) -> dict[str, float]:
    return {category: work_ns[category] for category in CATEGORIES if work_ns.get(category)}
