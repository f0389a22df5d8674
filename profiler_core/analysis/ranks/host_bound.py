"""Which waiting of a job is no rank's fault: the hosts of those that wait are the limit as well.

The profiler slows hosts, each by another factor, and never makes one faster. Where a host needs as
long under the profiler as a whole step takes without it, that host alone may be why the step takes
so long, and what others were later than it in the trace may be the profiler's doing.
"""

from collections.abc import Mapping

from profiler_core.analysis.ranks.awaited import LATE_SHARE
from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.ranks.job_summary import LATE_RANK, OTHER_RANKS, SLOWED


def awaited_without_profiler(
    path: CriticalPath, by_work: CriticalPath | None, step_ns: float
) -> CriticalPath:
    """Which of the two paths of `critical_path` is the job's, where it is known how long it takes.

    The profiler slows hosts, each by another factor, so the rank that is awaited under it may be
    another one than without. Without it a rank waits and idles through hosts for no longer than
    its device leaves of the step; where a rank works more than the others by more than that, the
    others wait for it.

    Args:
        path: along the rank that is awaited under the profiler.
        by_work: along the rank that works most.
        step_ns: of the job, unprofiled.
    """
    if by_work is None:
        return path
    slack_ns = max(0.0, step_ns - by_work.device_ns)
    is_awaited = by_work.late_work_ns - slack_ns >= LATE_SHARE * step_ns
    return by_work if is_awaited else path


def untold_waiting(path: CriticalPath, step_ns: float) -> dict[str, float]:
    """What of the waiting the traces cannot lay on another rank's host, by cause; ns per step.

    Long pauses of a host stay told: the profiler makes none. What they leave of the step is what
    the rest of the late rank's host is held against.

    Args:
        path: of the job, on the profiler's clock.
        step_ns: unprofiled.
    """
    untold: dict[str, float] = {}
    late = path.late
    if late is not None and path.others_host_ns >= step_ns - late.stalled_ns:
        untold[LATE_RANK] = max(0.0, late.total_idle_ns - late.stalled_ns)
    if path.host_ns >= step_ns:
        untold[OTHER_RANKS] = path.waited_for_hosts_ns
        untold[SLOWED] = path.slowed_by_waiting_ns
    return {cause: ns for cause, ns in untold.items() if ns}


def hides_who_is_late(path: CriticalPath, untold_ns: float) -> bool:
    """Is so much of the profiled waiting untold that the traces do not say who is late?

    Args:
        path: of the job, on the profiler's clock.
        untold_ns: all of `untold_waiting`.
    """
    return untold_ns >= LATE_SHARE * path.step_ns


def hosts_hide_waiting(path: CriticalPath, waiting_share: float, step_ns: float) -> bool:
    """Do ranks wait in the trace while each host is the limit there, slowed by the profiler?

    No host is later than the others then, so that nothing of the waiting is laid on one; but the
    profiler slows each by another factor, and which is late without it the trace does not tell.

    Args:
        path: of the job, on the profiler's clock.
        waiting_share: of the profiled steps, of all ranks.
        step_ns: unprofiled.
    """
    is_limit = min(path.host_ns, path.others_host_ns) >= (1 + LATE_SHARE) * step_ns
    return is_limit and waiting_share >= LATE_SHARE


def as_idle(
    path: CriticalPath, idle_ns: Mapping[str, float], untold_ns: Mapping[str, float]
) -> dict[str, float]:
    """Idle time by cause, the untold waiting among that of the critical rank's own host.

    Args:
        path: of the job.
        idle_ns: per step, with the waiting.
        untold_ns: of `untold_waiting`.
    """
    untold_ns = {cause: min(ns, idle_ns.get(cause, 0.0)) for cause, ns in untold_ns.items()}
    idle = {cause: ns - untold_ns.get(cause, 0.0) for cause, ns in idle_ns.items()}
    late_ns = untold_ns.get(LATE_RANK, 0.0)
    if path.late is not None and late_ns:
        share = late_ns / path.late.total_idle_ns
        for cause, ns in path.late.idle_ns.items():
            idle[cause] = idle.get(cause, 0.0) + share * ns
    waited_ns = untold_ns.get(OTHER_RANKS, 0.0) + untold_ns.get(SLOWED, 0.0)
    own = {cause: ns for cause, ns in idle.items() if cause.startswith("host_") and ns > 0}
    total = sum(own.values())
    for cause, ns in (own or {"host_other": 1.0}).items():
        idle[cause] = idle.get(cause, 0.0) + waited_ns * ns / (total or 1.0)
    return {cause: ns for cause, ns in idle.items() if ns}
