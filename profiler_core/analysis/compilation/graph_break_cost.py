"""What graph breaks cost per step (docs/graph_break_cost.md).

A break makes the host work: between two compiled calls (Python in between, guards and cache
lookup, prologue), at the entry into the next call, and in that call's first operators, which start
cold. That is paid only as far as the device does not hide it, so host and device are replayed as
two queues without that work (`what_if`). Costs do not add up: removing one of several may save
little. Measured against the truth in docs/graph_break_cost.md and docs/what_if.md.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.compilation.crossings import Crossing
from profiler_core.analysis.step_time import Clock
from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.what_if.engine import WhatIf
from profiler_core.model.trace import Trace


@dataclass(frozen=True)
class BreakCost:
    """All breaks of a run together, per step.

    step_ns - without_ns == cost_ns; range_ns holds cost_ns.
    """

    n: float  # crossings from one compiled call to the next
    host_work_ns: float  # between, around and at the start of the calls, profiled clock
    step_ns: float
    without_ns: float
    cost_ns: float
    range_ns: tuple[float, float]
    clock: Clock
    bound: Literal["host", "device"]  # device: it hides all of the host's work
    share_by_compile_id: Mapping[str, float]  # of host_work_ns, by the frame that breaks
    n_steps: int  # of the trace
    n_replayed_steps: int  # fewer where the trace has very many: spread evenly, averaged over


def graph_break_cost(trace: Trace, unprofiled_step_ns: float | None) -> BreakCost | None:
    """The cost of all breaks of a trace.

    Args:
        trace: of a compiled run, with steps.
        unprofiled_step_ns: its step time without the profiler; None: profiled clock.

    Returns:
        None without steps or without compiled calls; cost 0 where nothing breaks.
    """
    engine = WhatIf(trace, unprofiled_step_ns)
    scene = engine.scene
    saved = engine.saved(Change("no_breaks"))
    if scene is None or saved is None or not scene.calls:
        return None
    hidden = not engine.is_host_bound or (bool(scene.crossings) and saved.expected_ns == 0)
    cost = 0.0 if hidden else saved.expected_ns
    return BreakCost(
        n=len(scene.crossings) / scene.two.n_steps,
        host_work_ns=scene.without_breaks.removable_per_step_ns / scene.speed,
        step_ns=scene.step_ns,
        without_ns=scene.step_ns - cost,
        cost_ns=cost,
        range_ns=(0.0, 0.0) if hidden else (saved.low_ns, saved.high_ns),
        clock=saved.clock,
        bound="device" if hidden else "host",
        share_by_compile_id=_shares(scene.crossings),
        n_steps=scene.two.n_all_steps,
        n_replayed_steps=scene.two.n_steps,
    )


def _shares(crossings: list[Crossing]) -> dict[str, float]:
    sums: defaultdict[str, float] = defaultdict(float)
    for crossing in crossings:
        length = crossing.entry_end_ns - crossing.start_ns
        for compile_id in crossing.ids:
            sums[compile_id] += length / len(crossing.ids)
    total = sum(sums.values())
    return {key: value / total for key, value in sums.items()} if total else {}
