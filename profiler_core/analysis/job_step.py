"""The step of a job in few parts: compute, transfers, waiting and for whom, copies, idle time.

The parts are those of the waterfall, put together; none is computed a second time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profiler_core.analysis.apportion import apportion
from profiler_core.analysis.measures import common_clock, step_ns
from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.ranks.job_summary import (
    BUBBLE,
    LATE_RANK,
    LATE_WORK,
    OTHER_RANKS,
    SLOWED,
    beyond_bubble,
    idle_by_cause,
)
from profiler_core.analysis.side import Side
from profiler_core.analysis.step_time import Clock
from profiler_core.analysis.unprofiled_idle import BEYOND_PROFILE, unprofiled_idle_of_job
from profiler_core.analysis.waterfall import (
    CLOCKS,
    OTHER_LABELS,
    OVERLAP,
    SLOWED_WORK,
    WORK_CLASSES,
    labels_of_waiting,
    step_shares,
)

COMPUTE, TRANSFER, COPIES = "compute", "exposed_transfer", "exposed_copies"
HOST_IDLE = "idle_host"  # all that the host causes; the device's own stays as the waterfall has it
_OF_THE_DEVICE = ("idle_between_kernels", "idle_dependency", "idle_tail")
_LABELS: dict[str, str] = {
    COMPUTE: "compute",
    TRANSFER: "transfers that nothing hides",
    SLOWED_WORK: OTHER_LABELS[SLOWED_WORK],
    LATE_WORK: OTHER_LABELS[LATE_WORK],
    f"idle_{LATE_RANK}": OTHER_LABELS[f"idle_{LATE_RANK}"],
    f"idle_{BUBBLE}": OTHER_LABELS[f"idle_{BUBBLE}"],
    f"idle_{OTHER_RANKS}": OTHER_LABELS[f"idle_{OTHER_RANKS}"],
    f"idle_{SLOWED}": OTHER_LABELS[f"idle_{SLOWED}"],
    COPIES: "copies that nothing hides",
    HOST_IDLE: "idle: the host is late",
    **{key: OTHER_LABELS[key] for key in _OF_THE_DEVICE},
    BEYOND_PROFILE: OTHER_LABELS[BEYOND_PROFILE],
    CLOCKS: OTHER_LABELS[CLOCKS],
}


@dataclass(frozen=True)
class JobStep:
    """Whole ns of one step by part, in the order of the labels; they sum to `step_ns`."""

    step_ns: int
    clock: Clock
    parts_ns: Mapping[str, int]
    labels: Mapping[str, str]  # the late rank by its number


def job_steps(sides: Sequence[Side]) -> tuple[JobStep | None, ...]:
    """The step of each job, all on one clock; None: a run of one process, or without a trace."""
    clock = common_clock(sides) or "profiled"
    steps: list[JobStep | None] = []
    for side in sides:
        summary = side.summary
        path = summary.critical if summary is not None else None
        if summary is None or path is None:
            steps.append(None)
            continue
        total = step_ns(side, clock)
        profiled_ns = summary.profiled_step_ns
        whole_ns = round(profiled_ns if total is None else total)
        shares = step_shares(summary, whole_ns, clock)
        steps.append(_job_step(path, shares, whole_ns, clock))
    return tuple(steps)


def profiled_job_step(path: CriticalPath) -> JobStep:
    """The step on the profiler's clock, by the traces alone."""
    idle_ns = {f"idle_{cause}": ns for cause, ns in idle_by_cause(path).items()}
    shares = beyond_bubble({**_work_ns(path), **idle_ns}, path)
    return _job_step(path, shares, round(path.step_ns), "profiled")


def unprofiled_job_step(path: CriticalPath, step_ns: float) -> JobStep:
    """The step without the profiler, by the traces and its measured time.

    Args:
        path: of `Job.unprofiled`.
        step_ns: unprofiled.
    """
    idle_ns = unprofiled_idle_of_job(path, step_ns)
    clocks_ns = min(0.0, step_ns - path.busy_ns)
    shares = beyond_bubble({**_work_ns(path), CLOCKS: clocks_ns, **idle_ns}, path)
    return _job_step(path, shares, round(step_ns), "unprofiled")


def _work_ns(path: CriticalPath) -> dict[str, float]:
    return {
        "other_compute": sum(path.work_ns.values()),
        SLOWED_WORK: path.slowed_ns,
        LATE_WORK: path.late_work_ns,
        OVERLAP: path.overlap_ns,
    }


def _job_step(
    path: CriticalPath, shares: Mapping[str, float], total_ns: int, clock: Clock
) -> JobStep:
    whole = apportion(dict(shares), total_ns)
    own = {key: ns for key, ns in whole.items() if key in _LABELS}
    work_ns = sum(ns for key, ns in whole.items() if key in WORK_CLASSES or key == OVERLAP)
    exposed_ns = {TRANSFER: round(path.exposed_transfer_ns), COPIES: round(path.exposed_copy_ns)}
    host_ns = sum(
        ns
        for key, ns in whole.items()
        if key not in own and key not in WORK_CLASSES and key != OVERLAP
    )
    parts = {
        **own,
        **exposed_ns,
        COMPUTE: work_ns - sum(exposed_ns.values()),
        HOST_IDLE: host_ns,
    }
    names = labels_of_waiting(path.late.rank) if path.late is not None else {}
    return JobStep(
        step_ns=total_ns,
        clock=clock,
        parts_ns={key: parts[key] for key in _LABELS if parts.get(key)},
        labels={**_LABELS, **names},
    )
