"""Who waits for whom in a step of a job: one claim, for headlines, tables and JSON alike.

Where the step is known without the profiler the claim is of that step, and rests on the bars of the
waterfall: on *waiting for rank r* and *waiting for each other*. Else it is of the profiled steps.
"""

from dataclasses import dataclass
from enum import StrEnum

from profiler_core.analysis.ranks.awaited import LATE_SHARE
from profiler_core.analysis.ranks.host_bound import (
    hides_who_is_late,
    hosts_hide_waiting,
    untold_waiting,
)
from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.ranks.job_summary import (
    LATE_RANK,
    LATE_WORK,
    OTHER_RANKS,
    beyond_bubble,
    idle_by_cause,
)
from profiler_core.analysis.unprofiled_idle import unprofiled_idle_of_job


class Waiting(StrEnum):
    """What the ranks of a job do."""

    FOR_RANK = "for_rank"  # the others wait for one
    IN_TURN = "in_turn"  # they wait for each other
    NONE = "none"  # less than `LATE_SHARE` of the step
    UNTOLD = "untold"  # the profiler's slowing of hosts hides it, or no collective tells it
    NO_RANK = "no_rank"  # that could be read


@dataclass(frozen=True)
class Claim:
    """Of one step of the job, ns per step."""

    waiting: Waiting
    rank: int | None = None  # that the others wait for
    step_ns: float | None = None  # unprofiled; None: of the profiled steps
    late_ns: float = 0.0  # what the others wait for it, without the profiler
    untold_ns: float = 0.0  # profiled waiting that may be the profiler's doing


def claim_of(job: Job) -> Claim:
    """Who waits for whom, without the profiler where `Job.unprofiled` knows the step.

    Args:
        job: of ranks.
    """
    profiled = _profiled(job)
    path, step_ns = job.critical, job.unprofiled_step_ns
    if path is None or step_ns is None or job.wait_share is None:
        return profiled
    untold_ns = sum(untold_waiting(path, step_ns).values())
    idle_ns = unprofiled_idle_of_job(path, step_ns)
    parts_ns = beyond_bubble({LATE_WORK: path.late_work_ns, **idle_ns}, path)
    late_ns = parts_ns[LATE_WORK] + parts_ns.get(f"idle_{LATE_RANK}", 0.0)
    least_ns = LATE_SHARE * step_ns

    def claim(waiting: Waiting, rank: int | None = None) -> Claim:
        return Claim(waiting, rank, step_ns, late_ns, untold_ns)

    if path.late is not None and late_ns >= least_ns:
        return claim(Waiting.FOR_RANK, path.late.rank)
    if hides_who_is_late(path, untold_ns):
        return claim(Waiting.UNTOLD)
    if idle_ns.get(f"idle_{OTHER_RANKS}", 0.0) >= least_ns:
        return claim(Waiting.IN_TURN)
    if hosts_hide_waiting(path, _waiting_share(job, job.wait_share), step_ns):
        return claim(Waiting.UNTOLD)
    return claim(Waiting.NONE)


def _profiled(job: Job) -> Claim:
    if not job.ranks:
        return Claim(Waiting.NO_RANK)
    named = job.straggler.rank if job.straggler is not None else None
    path = job.critical
    if path is not None and path.late is not None and named in (None, path.late.rank):
        # It need not stand out of the waiting: many even ranks come last in turn.
        costs_ns = path.late.total_ns - path.late_in_bubble_ns
        if costs_ns >= LATE_SHARE * path.step_ns:
            named = path.late.rank
        elif path.late_in_bubble_ns:
            named = None
    if named is not None:
        return Claim(Waiting.FOR_RANK, named)
    if job.wait_share is None:
        return Claim(Waiting.UNTOLD)
    share = _waiting_share(job, job.wait_share)
    return Claim(Waiting.NONE if share < LATE_SHARE else Waiting.IN_TURN)


def _waiting_share(job: Job, wait_share: float) -> float:
    """Of the profiled steps, without what the stages of a pipeline wait by their schedule."""
    path = job.critical
    if path is None or not path.bubble_ns:
        return wait_share
    return idle_by_cause(path).get(OTHER_RANKS, 0.0) / path.step_ns
