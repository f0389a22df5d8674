"""Which stages a plan has, in which order, for one process or for ranks."""

from __future__ import annotations

from typing import List, Optional

from profiler_core import run_directory as names
from profiler_core.capture.child.graph_captures import GraphCaptures
from profiler_core.capture.child.warmup import ON_CPU, ON_GPU, WITH_RANKS, Limits
from profiler_core.capture.round_plan import CPU_CAP_SECONDS, TIMING_CAP_SECONDS, RoundPlan
from profiler_core.capture.telemetry.sampler import PERIOD_S, WHILE_TIMED_PERIOD_S
from profiler_core.record.plan import Plan
from profiler_core.record.run_location import Ranks
from profiler_core.record.stages.captured import CapturedGraphs
from profiler_core.record.stages.profiled import Profiled
from profiler_core.record.stages.stage import Skip, Stage
from profiler_core.record.stages.steady import Memory, Snapshot, Telemetry
from profiler_core.record.stages.timing import Timing
from profiler_core.record.stages.warm_up import WarmUp


def stages_of(
    plan: Plan, ranks: Ranks, is_cuda: bool, graphs: Optional[GraphCaptures] = None
) -> List[Stage]:
    """The stages in their order.

    With several ranks no stage ends by a clock: ranks that stopped at different steps would hang.
    """
    is_alone = ranks.world_size == 1
    limits = _limits(plan, ON_GPU if is_cuda else ON_CPU) if is_alone else _limits(plan, WITH_RANKS)
    if not is_alone:
        limits = limits._replace(floor_steps=limits.ceiling_steps)
    cap = (TIMING_CAP_SECONDS if is_cuda else CPU_CAP_SECONDS) if is_alone else float("inf")
    schedule = {
        "wait": plan.profile_wait,
        "warmup": plan.profile_warmup,
        "active": plan.steps,
    }
    stages: List[Stage] = [
        Skip(plan.skip_steps),
        WarmUp(limits),
        CapturedGraphs(graphs),
        Timing(
            RoundPlan(plan.rounds, cap),
            plan.round_steps,
            plan.round_seconds if is_alone else 0.0,
            None if is_alone else WHILE_TIMED_PERIOD_S,
        ),
        Memory(),
    ]
    if is_alone:
        stages.append(Telemetry(plan.telemetry_seconds, PERIOD_S))
    if plan.profile:
        stages.append(Profiled(names.TRACE, schedule, False, PERIOD_S))
    if plan.stacks:
        stages.append(Profiled(names.TRACE_STACKS, schedule, True, PERIOD_S))
    if plan.memory_snapshot:
        stages.append(Snapshot(names.MEMORY_SNAPSHOT))
    return stages


def _limits(plan: Plan, usual: Limits) -> Limits:
    floor = usual.floor_steps if plan.warm_up_floor is None else plan.warm_up_floor
    ceiling = usual.ceiling_steps if plan.warm_up_ceiling is None else plan.warm_up_ceiling
    if plan.warm_up_floor is None:
        floor = min(floor, ceiling)
    return Limits(floor, max(floor, ceiling), usual.ceiling_ns)
