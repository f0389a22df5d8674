"""The summary of a job: the times of its critical path, the kernels of the rank that is shown."""

from collections.abc import Mapping
from dataclasses import replace

from profiler_core.analysis.gpu_time import GpuTime
from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.ranks.pipeline import take_bubble
from profiler_core.analysis.summary import Summary

# Causes of idle time that a single rank does not show, beside those of `idle.CAUSES`.
LATE_RANK, OTHER_RANKS, SLOWED = "late_rank", "other_ranks", "slowed_by_waiting"
BUBBLE = "pipeline_bubble"
LATE_WORK = "late_work"  # a part of the step, beside "idle_<cause>"

# Kernels and their calls.
BESIDE_A_COLLECTIVE = "that a collective slows count as they cost without one"


def with_job(summary: Summary, path: CriticalPath, rank: int) -> Summary:
    """The summary of the shown rank with the job's step in place of its own.

    Its kernels and their kinds stay: the path's work is made of the same events.

    Waiting is idle time there, never busy time and never communication; what a collective that
    waits costs the kernels beside it is idle time too, since it would not be without the waiting.

    Args:
        summary: of the rank whose kernels are shown.
        path: of its job.
        rank: whose kernels are shown.
    """
    n = summary.n_steps
    busy_ns = round(path.busy_ns * n)
    window_ns = round(path.step_ns * n)
    causes = idle_by_cause(path)
    exposed = (round(path.exposed_transfer_ns * n), round(path.exposed_copy_ns * n))
    compute_ns = busy_ns - sum(exposed)
    time = GpuTime(
        summary.devices[0].device if summary.devices else 0,
        busy_ns,
        window_ns - busy_ns,
        compute_ns,
        *exposed,
    )
    return replace(
        summary,
        window_ns=window_ns,
        busy_ns=busy_ns,
        idle_ns=time.idle_ns,
        compute_ns=compute_ns,
        exposed_communication_ns=exposed[0],
        exposed_copy_ns=exposed[1],
        idle_by_cause_ns={cause: round(ns * n) for cause, ns in causes.items() if ns},
        devices=(time,),
        notes=(*summary.notes, note(path, rank)),
        n_late_gaps=round(path.n_late_gaps * n),
        own_gap_ns=path.own_gap_ns,
        critical=path,
    )


def idle_by_cause(path: CriticalPath) -> dict[str, float]:
    """Idle time of the job's step, the causes among it that only a job has; ns per step."""
    filled_ns = path.late_idle_in_bubble_ns
    causes = {
        **path.idle_ns,
        LATE_RANK: (path.late.total_idle_ns if path.late else 0.0) - filled_ns,
        OTHER_RANKS: sum(path.waited_ns.values()),
        SLOWED: path.slowed_by_waiting_ns,
    }
    if not path.bubble_ns:
        return causes
    taken = take_bubble(causes, OTHER_RANKS, BUBBLE, path.bubble_ns - filled_ns)
    return {**taken, BUBBLE: taken[BUBBLE] + filled_ns}


def beyond_bubble(parts_ns: Mapping[str, float], path: CriticalPath) -> dict[str, float]:
    """The parts of a step with what a late rank needs more only where the step is longer for it.

    What fills the bubble that its schedule leaves anyhow is the bubble's: first idle time of its
    host, then work. The sum stays.

    Args:
        parts_ns: `LATE_WORK`, and "idle_<cause>" on the same clock, per step.
        path: of the job.
    """
    idle, bubble = f"idle_{LATE_RANK}", f"idle_{BUBBLE}"
    parts = dict(parts_ns)
    late_idle_ns, late_work_ns = parts.get(idle, 0.0), parts.get(LATE_WORK, 0.0)
    idle_ns = sum(ns for key, ns in parts.items() if key.startswith("idle")) - late_idle_ns
    left_ns = max(0.0, path.bubble_ns - idle_ns)
    of_idle_ns = min(late_idle_ns, left_ns)
    of_work_ns = max(0.0, min(late_work_ns, left_ns - of_idle_ns))
    if of_idle_ns or of_work_ns:
        parts[idle] = late_idle_ns - of_idle_ns
        parts[LATE_WORK] = late_work_ns - of_work_ns
        parts[bubble] = parts.get(bubble, 0.0) + of_idle_ns + of_work_ns
    return parts


def of_one_rank(rank: int, n_ranks: int, told: str = "") -> str:
    """What the times of one rank hold where the others are not here, or tell no critical path.

    Args:
        rank: whose times they are.
        n_ranks: of the job.
        told: what all ranks together tell of waiting, in sentences; "": nothing.
    """
    whose = f"Times are of rank {rank} of {n_ranks} alone"
    if not told:
        return f"{whose}: what it waits for other ranks is in them, and is not told."
    return f"{whose}, with what it waits for other ranks in them. {told}"


def note(path: CriticalPath, rank: int) -> str:
    """Whose times these are, and whose kernels."""
    whose = "its own" if rank == path.rank else f"rank {rank}'s"
    beside = beside_a_collective(path)
    return (
        f"Times are of the job of {path.n_ranks} ranks, along rank {path.rank}, the latest; "
        f"kernels and groups are {whose}, memory and compilation the opened "
        f"rank's.{f' {beside}' if beside else ''}"
    )


def beside_a_collective(path: CriticalPath) -> str:
    """How kernels count that a collective slows, in a sentence; "" where it slows none."""
    is_slowed = path.slowed_ns + path.slowed_by_waiting_ns > 0
    return f"Kernels {BESIDE_A_COLLECTIVE}, if any runs so." if is_slowed else ""
