"""Idle time of a step without the profiler, by cause, from the profiled one.

Device work is as in the trace, so a shorter step has less idle time. The device's own pace from
kernel to kernel stays; the rest is shared out in the profiled proportions (docs/columns.md,
Waterfall and fusion). Of a job of ranks long pauses of the late rank's host and a pipeline's bubble
stay as well, and no waiting for another rank is longer than under the profiler: what a job's step
idles beyond the profiled one is counted to its host's causes in their profiled proportions, which
no trace shows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.ranks.host_bound import as_idle, untold_waiting
from profiler_core.analysis.ranks.job_summary import BUBBLE, LATE_RANK, idle_by_cause

IDLE = "idle"  # all of it, where the trace tells no causes
# Beyond what the profiled steps show, where these have no cause of the host's to count it to.
BEYOND_PROFILE = "idle_beyond_profile"
OWN_PACE = "idle_between_kernels"
_BUBBLE = f"idle_{BUBBLE}"
_LATE_IDLE = f"idle_{LATE_RANK}"


@dataclass(frozen=True)
class AssumedPace:
    """What idle time between kernels rests on where the trace does not have it so; of one step."""

    measured_ns: float  # in the trace, before kernels that waited already
    n_late: float  # gaps that ended with a launch that came late
    gap_ns: float  # what each of them counts with
    is_cut: bool  # that is more than the step idles at all


def assumed_pace(ns: float, measured_ns: float, n_late: float, gap_ns: float) -> AssumedPace | None:
    """None: the time is as measured in the trace, up to rounding.

    Args:
        ns: idle time between kernels in an unprofiled step.
        measured_ns: the same of the profiled step.
        n_late: gaps per step that ended with a late launch.
        gap_ns: what each of them counts with.
    """
    if ns == 0 or abs(ns - measured_ns) < 1:
        return None
    is_cut = ns < measured_ns + n_late * gap_ns - 1
    return AssumedPace(measured_ns, n_late, gap_ns, is_cut)


def unprofiled_idle(
    by_cause_ns: Mapping[str, float],
    idle_ns: float,
    late_gaps_ns: float,
    path: CriticalPath | None,
    step_ns: float,
) -> dict[str, float]:
    """Idle time per step as "idle_<cause>", with `BEYOND_PROFILE`; sums to `idle_ns`.

    Args:
        by_cause_ns: profiled, per step.
        idle_ns: what the device's work leaves of the unprofiled step.
        late_gaps_ns: the device's own gaps where launches came late: it would have needed them
            all the same, had the host been in time.
        path: of a job of ranks.
        step_ns: unprofiled.
    """
    if path is not None:
        by_cause_ns = as_idle(path, by_cause_ns, untold_waiting(path, step_ns))
    measured = {f"idle_{cause}": ns for cause, ns in by_cause_ns.items()}
    # The device's own pace is not the profiler's doing; all else is the host's.
    own_pace_ns = min(measured.pop(OWN_PACE, 0.0) + late_gaps_ns, idle_ns)
    shares = _host_shares(path, measured, idle_ns - own_pace_ns)
    return {OWN_PACE: own_pace_ns, **shares}


def unprofiled_idle_of_job(path: CriticalPath, step_ns: float) -> dict[str, float]:
    """Idle time of a job's step as `unprofiled_idle`; {} where the device works all of the step.

    Args:
        path: of the job.
        step_ns: unprofiled.
    """
    idle_ns = step_ns - path.busy_ns
    if idle_ns <= 0:
        return {}
    gaps_ns = path.n_late_gaps * path.own_gap_ns
    return unprofiled_idle(idle_by_cause(path), idle_ns, gaps_ns, path, step_ns)


def _host_shares(
    path: CriticalPath | None, measured: Mapping[str, float], rest_ns: float
) -> dict[str, float]:
    fixed: dict[str, float] = {}
    if path is not None and path.late is not None and path.late.stalled_ns:
        stalled_ns = max(0.0, path.late.stalled_ns - path.late_idle_in_bubble_ns)
        fixed[_LATE_IDLE] = min(stalled_ns, rest_ns)
    if path is not None and measured.get(_BUBBLE):
        fixed[_BUBBLE] = min(measured[_BUBBLE], rest_ns - sum(fixed.values()))
    host = {key: ns - fixed.get(key, 0.0) for key, ns in measured.items()}
    rest_ns -= sum(fixed.values())
    total_ns = sum(host.values())
    if total_ns == 0:
        shares = {BEYOND_PROFILE: rest_ns}
    elif path is None or rest_ns <= total_ns:
        shares = {key: ns * rest_ns / total_ns for key, ns in host.items()}
    else:
        own = {key: ns for key, ns in host.items() if key.startswith("idle_host_")}
        own_ns = sum(own.values())
        more_ns = rest_ns - total_ns
        more = {key: more_ns * ns / own_ns for key, ns in own.items() if own_ns}
        more = more or {BEYOND_PROFILE: more_ns}
        shares = {key: host.get(key, 0.0) + more.get(key, 0.0) for key in {**host, **more}}
    for key, ns in fixed.items():
        shares[key] = shares.get(key, 0.0) + ns
    return shares
