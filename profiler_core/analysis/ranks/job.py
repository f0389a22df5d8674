"""All ranks of a job together: who waits for whom, how uneven they are, how fast they talk.

A collective ends on all its ranks at about the same moment, so the rank whose kernel is shortest
came last and the others waited for it (the rule of HTA's straggler analysis). This needs no common
clock: durations are compared, never start times of different machines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from profiler_core.analysis.ranks.alike import AlikeRanks, alike_ranks
from profiler_core.analysis.ranks.awaited import (
    LATE_SHARE,
    WaitingGroup,
    awaited,
    most_awaited,
    waiting_groups,
)
from profiler_core.analysis.ranks.collective_kinds import LABELS, bus_factor
from profiler_core.analysis.ranks.critical import CriticalPath, critical_path
from profiler_core.analysis.ranks.host_bound import awaited_without_profiler
from profiler_core.analysis.ranks.job_notes import (
    completeness_notes,
    file_notes,
    on_gpu,
    pairing_notes,
)
from profiler_core.analysis.ranks.kernel_times import cost_beside
from profiler_core.analysis.ranks.links import Link, links
from profiler_core.analysis.ranks.matching import KEY, Arrival, arrivals, matched, waiting_by
from profiler_core.analysis.ranks.process_groups import Dimension, dimensions
from profiler_core.analysis.ranks.rank_row import RankRow, step_of_job
from profiler_core.analysis.ranks.rank_summary import RankSummary, no_gpu
from profiler_core.analysis.ranks.waiting import RankCost, never_alone, slowed_kinds, waits_of
from profiler_core.analysis.telemetry.rank_clocks import RankClock

# Ranks whose kernels the job's ledger reads one by one.
MOST_LEDGER_RANKS = 16


@dataclass(frozen=True)
class CollectiveRow:
    """All collectives of one kind and group size. Bandwidths in bytes a second."""

    kind: str
    label: str
    group_size: int | None
    n: float  # per step and rank
    bytes: int | None  # per step and rank
    time_ns: float  # of the kernels, per step and rank
    transfer_ns: float | None  # of the fastest rank: without the waiting; None: ranks are missing
    wait_ns: float | None
    bus_bandwidth: float | None


@dataclass(frozen=True)
class Straggler:
    """The rank that the others wait for. share: of all waiting in the job."""

    rank: int
    share: float
    made_wait_ns: float  # per step, of all others together
    n_waiters: int  # ranks that waited for it
    compute_more: float | None  # its compute over the others' mean, minus 1
    compute_more_ns: float  # its compute minus the others' mean, per step
    idle_more_ns: float  # its idle time minus the others' mean, per step


@dataclass(frozen=True)
class Job:
    """What ranks tell together. Where something is None, `notes` says why."""

    ranks: tuple[RankRow, ...]
    collectives: tuple[CollectiveRow, ...]
    arrivals: tuple[Arrival, ...]  # the collectives of a step, in launch order
    n_steps: int  # that all ranks have
    world_size: int | None  # as the traces say
    missing: tuple[int, ...]  # ranks below world_size (or the highest) that nobody brought
    step_ns: float | None  # of each step the slowest rank's, the mean over the steps
    wait_share: float | None  # waiting of all ranks / time of all ranks
    compute_imbalance: float | None  # slowest rank's compute / mean - 1
    skew_ns: float | None  # median over collectives: between the first and the last arrival
    straggler: Straggler | None
    critical: CriticalPath | None  # None: a single rank, or ranks without a common step
    costs: tuple[RankCost, ...]  # of the rank that is shown, then of ranks beside it
    notes: tuple[str, ...]
    on_gpu: bool = True
    mesh: tuple[Dimension, ...] = ()  # of the process groups
    alike: tuple[AlikeRanks, ...] = ()
    links: tuple[Link, ...] = ()  # groups of ranks that do the same, the slowest first
    # Along a rank that works more than the critical one; None: no rank does.
    by_work: CriticalPath | None = None
    # Of the job; None: not known, and all that is claimed is of the profiled steps.
    unprofiled_step_ns: float | None = None

    def at_clocks(self, clocks: Sequence[RankClock]) -> "Job":
        """The job with the clock as a cause of lateness, where that of the late rank is lower."""
        paths = [path and path.at_clocks(clocks) for path in (self.critical, self.by_work)]
        return replace(self, critical=paths[0], by_work=paths[1])

    def unprofiled(self, step_ns: float | None) -> "Job":
        """The job along the rank that is awaited without the profiler (`awaited_without_profiler`).

        Args:
            step_ns: of the job, unprofiled; None: not known, and the job stays as it is.
        """
        if self.critical is None or step_ns is None:
            return self
        path = awaited_without_profiler(self.critical, self.by_work, step_ns)
        return replace(self, critical=path, unprofiled_step_ns=step_ns)


def combine(summaries: Sequence[RankSummary]) -> Job:
    """Reduce the ranks of one job; the order does not matter."""
    summaries = _of_one_device(summaries)
    usable = sorted((s for s in summaries if s.problem is None), key=lambda s: s.rank)
    world = max((s.world_size for s in summaries if s.world_size), default=None)
    present = {s.rank for s in summaries}
    # Where no trace says how many there were, the highest number tells how many at least.
    missing = tuple(r for r in range(world or max(present, default=-1) + 1) if r not in present)
    names = _shared_steps(usable)
    calls = matched(usable, names)
    waiting = _waiting(calls)
    rows = tuple(_rank_row(s, names, waiting.get(s.rank, _NO_WAITING)) for s in usable)
    spread = calls.filter(pl.col("is_shared")).group_by(KEY).agg(pl.col("wait_ns").max())
    total_step = sum(row.step_ns for row in rows)
    groups = waiting_groups(calls, len(names))
    path, by_work = critical_path(usable, rows, calls, names, groups)
    mesh = dimensions({s.rank: s.groups for s in usable}, [s.rank for s in usable])
    return Job(
        ranks=rows,
        collectives=_collective_rows(calls, len(names), len(usable)),
        arrivals=arrivals(calls),
        n_steps=len(names),
        world_size=world,
        missing=missing,
        step_ns=step_of_job(rows) if rows else None,
        wait_share=sum(r.waited_ns for r in rows) / total_step if spread.height else None,
        compute_imbalance=_compute_imbalance(rows),
        skew_ns=float(spread["wait_ns"].median()) if spread.height else None,  # type: ignore[arg-type]
        straggler=_straggler(rows, groups, _n_waiters(calls), path) if spread.height else None,
        critical=path,
        by_work=by_work,
        costs=_costs(usable, rows, names, calls, (path, by_work)),
        notes=(
            *file_notes(summaries, usable),
            *completeness_notes(present, missing, usable),
            *pairing_notes(usable, names, calls.height),
        ),
        on_gpu=on_gpu(usable),
        mesh=mesh,
        alike=alike_ranks(rows, mesh),
        links=links(calls),
    )


def _costs(
    ranks: Sequence[RankSummary],
    rows: Sequence[RankRow],
    names: Sequence[str],
    calls: pl.DataFrame,
    paths: Sequence[CriticalPath | None],
) -> tuple[RankCost, ...]:
    """Of the shown and the critical ranks, and of others from the most to the least compute."""
    by_compute = [row.rank for row in sorted(rows, key=lambda row: (-row.compute_ns, row.rank))]
    if not by_compute:
        return ()
    every = -(-len(by_compute) // MOST_LEDGER_RANKS)
    spread = (*by_compute[::every], by_compute[-1], *by_compute)
    first = [rank for path in paths if path for rank in (path.shown, path.rank)]
    chosen = list(dict.fromkeys((*first, *spread)))[:MOST_LEDGER_RANKS]
    shares = cost_beside([s.kernels.filter(pl.col("step").is_in(list(names))) for s in ranks])
    position = {summary.rank: number for number, summary in enumerate(ranks)}
    return tuple(
        RankCost(
            rank,
            ranks[position[rank]].origin_ns,
            waits_of(calls, rank),
            slowed_kinds(shares, position[rank]),
            never_alone(shares, position[rank]),
        )
        for rank in chosen
    )


def _of_one_device(summaries: Sequence[RankSummary]) -> Sequence[RankSummary]:
    """The ranks; beside those of GPUs, one without GPU events lost its work and has a problem."""
    if not any(s.on_gpu and s.problem is None for s in summaries):
        return summaries
    return [s if s.on_gpu or s.problem else replace(s, problem=no_gpu(s.mended)) for s in summaries]


def _compute_imbalance(rows: Sequence[RankRow]) -> float | None:
    """How much more the slowest rank computes than the mean, as a share of the mean."""
    mean = sum(row.compute_ns for row in rows) / len(rows) if rows else 0.0
    if len(rows) < 2 or not mean:
        return None
    return max(row.compute_ns for row in rows) / mean - 1


def _shared_steps(ranks: Sequence[RankSummary]) -> tuple[str, ...]:
    if not ranks:
        return ()
    shared = set.intersection(*({step.name for step in s.steps} for s in ranks))
    return tuple(step.name for step in ranks[0].steps if step.name in shared)


# Of one rank: waited in each step; over all of them made others wait, and in how many collectives
# it came last.
_Waiting = tuple[dict[str, int], int, int]
_NO_WAITING: _Waiting = ({}, 0, 0)


def _waiting(calls: pl.DataFrame) -> dict[int, _Waiting]:
    """By rank, in one pass over all calls: thousands of ranks are looked up, not searched."""
    shared = calls.filter(pl.col("is_shared"))
    waited: dict[int, dict[str, int]] = {}
    for rank, step, ns in waiting_by(shared, "rank", "step").iter_rows():
        waited.setdefault(rank, {})[step] = ns
    for_ranks = waiting_by(shared, "rank", "last_rank")
    caused = dict(for_ranks.group_by("last_rank").agg(pl.col("union_ns").sum()).iter_rows())
    is_last = pl.col("rank") == pl.col("last_rank")
    last = dict(shared.filter(is_last).group_by("rank").len().iter_rows())
    return {
        rank: (waited.get(rank, {}), caused.get(rank, 0), last.get(rank, 0))
        for rank in waited.keys() | caused.keys()
    }


def _rank_row(rank: RankSummary, names: Sequence[str], waiting: _Waiting) -> RankRow:
    shared = set(names)
    steps = tuple(step for step in rank.steps if step.name in shared) or rank.steps
    n = max(1, len(steps))
    waited, made_wait, n_last = waiting

    def mean(field: str) -> float:
        return float(sum(getattr(step, field) for step in steps)) / n

    return RankRow(
        rank=rank.rank,
        step_ns=mean("dur_ns"),
        compute_ns=mean("compute_ns"),
        communication_ns=mean("communication_ns"),
        exposed_communication_ns=mean("exposed_communication_ns"),
        exposed_copy_ns=mean("exposed_copy_ns"),
        idle_ns=mean("idle_ns"),
        waited_ns=sum(waited.values()) / n,
        made_wait_ns=made_wait / n,
        n_last=n_last / n,
        steps=steps,
        waited_in_steps_ns=tuple(waited.get(step.name, 0) for step in steps),
    )


def _sum(calls: pl.DataFrame, column: str) -> int:
    return int(calls[column].sum())


def _collective_rows(calls: pl.DataFrame, n_steps: int, n_ranks: int) -> tuple[CollectiveRow, ...]:
    per = max(1, n_steps * n_ranks)
    rows = []
    for (kind, size), kind_calls in calls.group_by("kind", "group_size", maintain_order=True):
        shared = kind_calls.filter(pl.col("is_shared"))
        complete = shared.filter(pl.col("is_complete"))
        with_bytes = complete.filter(pl.col("bytes").is_not_null())
        factor = bus_factor(str(kind), int(size)) if size else None
        transfer = _sum(with_bytes, "fastest_ns")
        rows.append(
            CollectiveRow(
                kind=str(kind),
                label=LABELS[str(kind)],
                group_size=int(size) if size else None,
                n=kind_calls.height / per,
                bytes=round(_sum(kind_calls, "bytes") / per)
                if kind_calls["bytes"].count()
                else None,
                time_ns=_sum(kind_calls, "dur_ns") / per,
                transfer_ns=_sum(shared, "fastest_ns") / per
                if 0 < shared.height == complete.height
                else None,
                wait_ns=(_sum(shared, "dur_ns") - _sum(shared, "fastest_ns")) / per
                if shared.height
                else None,
                bus_bandwidth=_sum(with_bytes, "bytes") * factor / transfer * 1e9
                if factor and transfer
                else None,
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.time_ns))


def _n_waiters(calls: pl.DataFrame) -> dict[int, int]:
    """By rank: how many others waited for it, however shortly."""
    waited = calls.filter(pl.col("is_shared"), pl.col("wait_ns") > 0)
    return dict(waited.group_by("last_rank").agg(pl.col("rank").n_unique()).iter_rows())


def _straggler(
    rows: Sequence[RankRow],
    groups: Sequence[WaitingGroup],
    n_waiters: Mapping[int, int],
    path: CriticalPath | None,
) -> Straggler | None:
    """The rank that is awaited most, where it stands out in the group that waits for it.

    Stages of a pipeline wait for each other in any case: one is late where it needs more.
    """
    late = most_awaited(awaited(rows, groups))
    waiters = n_waiters.get(late.rank, 0)
    worst = next(row for row in rows if row.rank == late.rank)
    mean_step_ns = sum(row.step_ns for row in rows) / len(rows)
    of_group = len(late.others) + 1
    if not waiters or late.ns <= 0 or late.group_ns < LATE_SHARE * mean_step_ns * of_group:
        return None
    if not late.is_late and path is not None and path.late is None:
        return None
    # Even ranks share the waiting: half each of two, so two need a clearer case than many.
    if late.share < 0.5 + 0.5 / of_group:
        return None
    others = [row for row in rows if row.rank in late.others]
    compute = sum(row.compute_ns for row in others) / len(others)
    idle = sum(row.idle_ns for row in others) / len(others)
    return Straggler(
        rank=worst.rank,
        share=worst.made_wait_ns / sum(row.made_wait_ns for row in rows),
        made_wait_ns=worst.made_wait_ns,
        n_waiters=waiters,
        compute_more=worst.compute_ns / compute - 1 if compute else None,
        compute_more_ns=worst.compute_ns - compute,
        idle_more_ns=worst.idle_ns - idle,
    )
