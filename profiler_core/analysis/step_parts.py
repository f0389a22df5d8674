"""How one step's wall time divides into kinds of kernels and idle time, for one stacked bar."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.categories import COPIES
from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.summary import Summary

WAITING_FOR_A_RANK = "waiting for a rank"  # what the others do while the late one works more


@dataclass(frozen=True)
class StepParts:
    """One step, ns. sum(by_category.values()) + idle_ns == step_ns."""

    step_ns: float
    clock: Literal["unprofiled", "profiled"]
    by_category: Mapping[str, float]  # in the order of CATEGORIES; only those that occur
    idle_ns: float
    scale: float  # what each category was multiplied by, so that the parts sum to the step
    device_kind: Literal["gpu", "cpu"]
    has_late_rank: bool = False  # idle_ns holds what it waits for a rank with more work
    is_whole_trace: bool = False  # no step is marked in it: it may hold any number
    cut_waiting_ns: float = 0.0  # of waiting for that rank, what the step has no room for


def step_parts(
    summary: Summary, step_ns: float | None, clock: Literal["unprofiled", "profiled"]
) -> StepParts:
    """Divide a step of `step_ns`; None takes the profiled step.

    Kernels last as long unprofiled as profiled, so idle is what remains of the step beside the
    busy time of the trace. Kernels that overlap (several streams or devices) sum to more than
    the busy time: then each is shown in proportion, and `scale` is below 1. It is as well where
    the profiled busy time exceeds the unprofiled step, by the profiler's own cost. A CPU's
    operators and what is between them are brought to the step by one factor. In a job of
    ranks what the late rank works more is idle time: the others wait for it; and collectives are
    shown with what they cost the step, so that kernels need not make room for hidden ones.
    """
    profiled = summary.profiled_step_ns
    step = profiled if step_ns is None else step_ns
    clock = "profiled" if step_ns is None else clock
    total_ns = {name: summary.per_step(sums.time_ns) for name, sums in summary.by_category.items()}
    path = summary.critical
    if path is not None:
        total_ns = _exposed(total_ns, path)
    pace = summary.unprofiled_scale(step)  # 1 where the step is the profiled one
    busy = min(summary.per_step(pace * summary.working_ns), step)
    total = sum(total_ns.values())
    scale = busy / total if total else 1.0
    late_ns = 0.0 if path is None else path.late_work_ns
    return StepParts(
        step_ns=step,
        clock=clock,
        by_category={name: ns * scale for name, ns in total_ns.items()},
        idle_ns=step - busy,
        scale=scale,
        device_kind=summary.device_kind,
        has_late_rank=late_ns > 0,
        is_whole_trace=clock == "profiled" and not summary.window.annotated,
        cut_waiting_ns=max(0.0, late_ns - (step - busy)),
    )


def _exposed(total_ns: Mapping[str, float], path: CriticalPath) -> dict[str, float]:
    """Kinds of a job's step: of collectives and copies only what they cost the step.

    That is what nothing is computed beside, and by what transfers slow the kernels beside them.
    """
    copies_ns = sum(ns for name, ns in total_ns.items() if name in COPIES)
    exposed = path.exposed_copy_ns / copies_ns if copies_ns else 0.0
    shown = {name: ns * exposed if name in COPIES else ns for name, ns in total_ns.items()}
    if "communication" in shown:
        shown["communication"] = path.exposed_transfer_ns + path.slowed_ns
    return shown
