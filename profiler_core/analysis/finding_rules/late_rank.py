"""Time that a job loses to its ranks: a late one, or uneven ones."""

from profiler_core.analysis.finding_rules.facts import LEAST_SHARE, Facts, Finding, Rule
from profiler_core.analysis.item import rank_item
from profiler_core.analysis.ranks.claim import claim_of
from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.ranks.job_summary import LATE_RANK, LATE_WORK, OTHER_RANKS
from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.wording.ranks import evidence, lateness, slow_clock
from profiler_core.units import format_duration

_HOST = (
    "See on Ranks what rank {rank} does in its steps, and what slows its host: a data loader, "
    "logging, checkpoints, other processes on its cores, recompilations."
)
_WORK = "Give rank {rank} as much as the others: batches, sequence lengths, shards."


def late_rank(facts: Facts) -> Finding | None:
    """Which rank the others wait for, where all ranks are there; else what may be waiting."""
    path = facts.summary.critical
    if path is not None:
        return _of_job(facts, path)
    return _on_cpus(facts, facts.job) if facts.job is not None else _of_one_rank(facts)


def _on_cpus(facts: Facts, job: Job) -> Finding | None:
    """Of ranks without a critical path: what each of the others waits, at most.

    That is a share of the job's profiled step; unprofiled it is taken for the same share.
    """
    late = job.straggler
    if late is None or claim_of(job).rank != late.rank:
        return _of_one_rank(facts)
    profiled_ns = late.made_wait_ns / late.n_waiters
    is_timed = facts.clock == "unprofiled"
    waited_ns = profiled_ns * (facts.step_ns / job.step_ns if is_timed and job.step_ns else 1.0)
    if waited_ns < LEAST_SHARE * facts.step_ns:
        return None
    return Finding(
        key="late_rank",
        change=Change("no_late_rank", rank=late.rank),
        title=f"The other ranks wait for rank {late.rank}.",
        evidence=evidence(job),
        advice=(_WORK if 2 * late.compute_more_ns >= profiled_ns else _HOST).format(rank=late.rank),
        page="ranks",
        items=(rank_item(facts.place, late.rank),),
        prediction=facts.at_most(waited_ns, "no critical path is told on CPUs"),
    )


def _of_job(facts: Facts, path: CriticalPath) -> Finding | None:
    if path.late is None:
        return _in_turn(facts, path)
    work_ns = facts.shares.get(LATE_WORK, 0.0)
    idle_ns = facts.shares.get(f"idle_{LATE_RANK}", 0.0)
    lost_ns = work_ns + idle_ns
    if lost_ns < LEAST_SHARE * facts.step_ns:
        return None
    host, work = (text.format(rank=path.late.rank) for text in (_HOST, _WORK))
    if path.late.clock is not None and path.late.clock.is_cause_of(path.late.total_ns):
        work = (
            f"See on Telemetry what holds the clock of rank {path.late.rank}'s GPU back: its power "
            "limit, its cooling, or clocks that are set (nvidia-smi -q -d PERFORMANCE,CLOCK)."
        )
    by_clock = slow_clock(path)
    return Finding(
        key="late_rank",
        change=Change("no_late_rank", rank=path.late.rank),
        title=f"The other ranks wait for rank {path.late.rank}.",
        evidence=f"{format_duration(lost_ns)} {facts.span} ({facts.share_text(lost_ns)}) is what "
        f"rank {path.late.rank} needs more than the others: "
        f"{lateness(path.late, work_ns, idle_ns)}." + (f" {by_clock}" if by_clock else ""),
        advice=work if work_ns >= idle_ns else host,
        page="ranks",
        items=(rank_item(facts.place, path.late.rank),),
        prediction=facts.lost(lost_ns),
    )


def _in_turn(facts: Facts, path: CriticalPath) -> Finding | None:
    waited_ns = facts.shares.get(f"idle_{OTHER_RANKS}", 0.0)
    if waited_ns < LEAST_SHARE * facts.step_ns:
        return None
    return Finding(
        key="late_rank",
        change=Change("no_late_rank"),
        title="The ranks wait for each other in turn.",
        evidence=f"{format_duration(waited_ns)} {facts.span} ({facts.share_text(waited_ns)}) pass "
        f"in collectives on rank {path.rank} before the last rank has come, and nothing is "
        "computed beside them.",
        advice="No rank is late in every step: look at what varies between steps, such as lengths "
        "of sequences, a data loader or other load on the hosts.",
        page="ranks",
        prediction=facts.lost(waited_ns),
    )


def _of_one_rank(facts: Facts) -> Finding | None:
    """A collective lasts from this rank's arrival to the last one's: most of it may be waiting."""
    exposed = facts.summary.per_step(facts.pace * facts.summary.exposed_communication_ns)
    if not facts.on_gpu or exposed < LEAST_SHARE * facts.step_ns:
        return None
    whole = facts.per_step(facts.kernels("communication"))
    return Finding(
        key="late_rank",
        change=Change("no_late_rank"),
        title="The device waits for other ranks.",
        evidence=f"{format_duration(exposed)} {facts.span} ({facts.share_text(exposed)}) are "
        f"communication beside which nothing is computed, of {format_duration(whole)} in "
        "collectives. A collective ends when the last rank has come.",
        advice="Open the traces of all ranks together: Ranks says which one comes last and for "
        "how long the others wait. Balance its work, or see what slows its host. If all come at "
        "once, hide the exchange (larger buckets, no_sync while gradients accumulate).",
        page="ranks",
        prediction=facts.at_most(
            exposed, "one rank's trace does not tell waiting from the transfer"
        ),
    )


PLACE = 100
RULES: tuple[Rule, ...] = (late_rank,)
