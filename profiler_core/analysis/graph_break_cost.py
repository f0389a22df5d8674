"""What graph breaks cost a step (design 6.8).

A break makes the host work between two compiled calls: Python in between, guards and cache lookup,
prologue, entry into the next graph. That is paid only as far as the device does not hide it, so
host and device are replayed as two queues without that work. Costs do not add up: the first break
costs most, and removing one of several may save little.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.compiled_calls import CompiledCall, compiled_calls
from profiler_core.analysis.step_time import Clock
from profiler_core.analysis.two_queues import host_scale, queues, replay_ns
from profiler_core.analysis.work import host_steps
from profiler_core.model.trace import Trace


@dataclass(frozen=True)
class BreakCost:
    """All breaks of a run together, a step.

    step_ns - without_ns == cost_ns; range_ns holds cost_ns and is no wider than ± 50 %.
    """

    n: float  # crossings from one compiled call to the next
    host_work_ns: float  # between and around the calls, profiled clock
    step_ns: float
    without_ns: float
    cost_ns: float
    range_ns: tuple[float, float]
    clock: Clock
    bound: Literal["host", "device"]  # device: it hides all of the host's work
    share_by_compile_id: Mapping[str, float]  # of host_work_ns, by the frame that breaks


@dataclass(frozen=True)
class _Crossing:
    start_ns: int
    end_ns: int
    entry_end_ns: int
    ids: tuple[str, ...]  # frames that may have broken here


def graph_break_cost(trace: Trace, unprofiled_step_ns: float | None) -> BreakCost | None:
    """The cost of all breaks of a trace.

    Args:
        trace: of a compiled run, with steps.
        unprofiled_step_ns: its step time without the profiler; None: profiled clock.

    Returns:
        None without steps or without compiled calls; cost 0 where nothing breaks.
    """
    calls = compiled_calls(trace)
    steps = host_steps(trace)
    if not calls or steps.height == 0:
        return None
    crossings = _crossings(calls)
    work = [
        interval
        for c in crossings
        for interval in ((c.start_ns, c.end_ns), (c.end_ns, c.entry_end_ns))
    ]
    two = queues(trace, work)
    if two is None:
        return None
    step_ns = unprofiled_step_ns or replay_ns(two, host_scale=1.0)
    scale = host_scale(two, step_ns) if unprofiled_step_ns else 1.0
    clock: Clock = "unprofiled" if unprofiled_step_ns else "profiled"
    shares = _shares(crossings)
    n = len(crossings) / two.n_steps
    if scale is None or not crossings:
        return BreakCost(
            n=n,
            host_work_ns=two.removable_per_step_ns,
            step_ns=step_ns,
            without_ns=step_ns,
            cost_ns=0.0,
            range_ns=(0.0, 0.0),
            clock=clock,
            bound="device" if scale is None else "host",
            share_by_compile_id=shares,
        )
    with_breaks = replay_ns(two, host_scale=scale)

    def saved(removed: float) -> float:
        """The replay's own error cancels out in the ratio."""
        without = replay_ns(two, host_scale=scale, removed=removed)
        return step_ns * max(0.0, 1 - without / with_breaks)

    # Python between the events is hardly slowed by the profiler, the events are: the work counts
    # as measured; at least, it shrank like the rest of the host's work.
    cost = saved(1.0)
    low = max(0.5 * cost, min(cost, saved(scale)))
    high = min(1.5 * cost, max(cost, saved(1.5)))
    floor = two.device_per_step_ns
    return BreakCost(
        n=n,
        host_work_ns=two.removable_per_step_ns,
        step_ns=step_ns,
        without_ns=step_ns - cost,
        cost_ns=cost,
        range_ns=(low, high),
        clock=clock,
        bound="device" if floor >= 0.97 * step_ns else "host",
        share_by_compile_id=shares,
    )


def _crossings(calls: list[CompiledCall]) -> list[_Crossing]:
    """From one compiled call to the next within one outermost region, step and thread."""
    found = []
    last: dict[tuple[int, int], CompiledCall] = {}
    for call in calls:
        before = last.get(call.thread)
        last[call.thread] = call
        if before is None or call.step is None or before.step != call.step:
            continue
        if before.outermost is None or before.outermost != call.outermost:
            continue
        if call.start_ns < before.end_ns:
            continue
        # The frame that broke is the one that ran before, and any that only called others.
        ids = tuple(dict.fromkeys((*_known(before.compile_id), *call.entered[:-1])))
        found.append(_Crossing(before.end_ns, call.start_ns, call.start_ns + call.entry_ns, ids))
    return found


def _known(compile_id: str | None) -> tuple[str, ...]:
    return () if compile_id is None else (compile_id,)


def _shares(crossings: list[_Crossing]) -> dict[str, float]:
    sums: defaultdict[str, float] = defaultdict(float)
    for crossing in crossings:
        length = crossing.entry_end_ns - crossing.start_ns
        for compile_id in crossing.ids:
            sums[compile_id] += length / len(crossing.ids)
    total = sum(sums.values())
    return {key: value / total for key, value in sums.items()} if total else {}
