"""What graph breaks cost per step (docs/graph_break_cost.md).

A break makes the host work: between two compiled calls (Python in between, guards and cache
lookup, prologue), at the entry into the next call, and in that call's first operators, which start
cold. That is paid only as far as the device does not hide it, so host and device are replayed as
two queues without that work. Costs do not add up: removing one of several may save little.

What the profiler itself added to that work is taken out by its events (two_queues.py), but the
five ranges of a break carry neither tensors nor a call of the driver as the events of the average
do, so they cost less than these: something between nothing and the average. The middle is the
value, both ends are the range, with what the same workload differs by from process to process.
Measured against the truth in docs/graph_break_cost.md.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.compilation.cold_calls import cold_start_ns
from profiler_core.analysis.compilation.compiled_calls import CompiledCall, compiled_calls
from profiler_core.analysis.compilation.two_queues import (
    Queues,
    profiler_event_ns,
    queues,
    replay_ns,
)
from profiler_core.analysis.step_sample import sample_steps
from profiler_core.analysis.step_time import Clock
from profiler_core.model.trace import Trace

# By what part of a step two processes of one host-bound workload differ: removing the same three
# breaks saved 93 and 113 µs of steps of about 350 µs in two captures of one day.
PROCESS_SPREAD = 0.05
# The device is busy for this part of the step: it hides what the host does.
DEVICE_BOUND = 0.97


@dataclass(frozen=True)
class BreakCost:
    """All breaks of a run together, per step.

    step_ns - without_ns == cost_ns; range_ns holds cost_ns and is no wider than ± 50 %.
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


@dataclass(frozen=True)
class _Crossing:
    start_ns: int
    end_ns: int
    entry_end_ns: int
    call: CompiledCall  # the one that is entered
    ids: tuple[str, ...]  # frames that may have broken here


def graph_break_cost(trace: Trace, unprofiled_step_ns: float | None) -> BreakCost | None:
    """The cost of all breaks of a trace.

    Args:
        trace: of a compiled run, with steps.
        unprofiled_step_ns: its step time without the profiler; None: profiled clock.

    Returns:
        None without steps or without compiled calls; cost 0 where nothing breaks.
    """
    sample = sample_steps(trace)
    calls = compiled_calls(trace, sample) if sample.n else []
    if not calls:
        return None
    crossings = _crossings(calls)
    cold = round(cold_start_ns(trace, [c.call for c in crossings], sample))
    two = queues(
        trace,
        [(c.start_ns, c.entry_end_ns) for c in crossings],
        [(c.entry_end_ns, min(c.entry_end_ns + cold, c.call.end_ns)) for c in crossings],
        sample,
    )
    if two is None:
        return None
    step_ns = unprofiled_step_ns or replay_ns(two)
    event_ns = profiler_event_ns(two, step_ns) if unprofiled_step_ns else 0.0
    hidden = event_ns is None or two.device_per_step_ns >= DEVICE_BOUND * step_ns
    cost, cost_range = 0.0, (0.0, 0.0)
    if crossings and event_ns is not None and not hidden:
        cost, cost_range = _cost(two, step_ns, event_ns)
        hidden = cost == 0.0
    return BreakCost(
        n=len(crossings) / two.n_steps,
        host_work_ns=two.removable_per_step_ns,
        step_ns=step_ns,
        without_ns=step_ns - cost,
        cost_ns=cost,
        range_ns=cost_range,
        clock="unprofiled" if unprofiled_step_ns else "profiled",
        bound="device" if hidden else "host",
        share_by_compile_id=_shares(crossings),
        n_steps=two.n_all_steps,
        n_replayed_steps=two.n_steps,
    )


def _cost(two: Queues, step_ns: float, event_ns: float) -> tuple[float, tuple[float, float]]:
    """(ns per step, its range): the replay's own error cancels out in the ratio."""
    with_breaks = replay_ns(two, event_ns=event_ns)
    high, cost, low = (
        step_ns
        * max(
            0.0,
            1
            - replay_ns(two, event_ns=event_ns, removed=True, removed_event_ns=of_a_break)
            / with_breaks,
        )
        for of_a_break in (0.0, event_ns / 2, event_ns)
    )
    spread = PROCESS_SPREAD * step_ns
    return cost, (
        max(0.5 * cost, cost - math.hypot(cost - low, spread)),
        min(1.5 * cost, cost + math.hypot(high - cost, spread)),
    )


def _crossings(calls: list[CompiledCall]) -> list[_Crossing]:
    """From one compiled call to the next within one outermost region, step and thread."""
    crossings = []
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
        ids = tuple(dict.fromkeys((*_ids(before.compile_id), *call.entered[:-1])))
        crossings.append(
            _Crossing(before.end_ns, call.start_ns, call.start_ns + call.entry_ns, call, ids)
        )
    return crossings


def _ids(compile_id: str | None) -> tuple[str, ...]:
    return () if compile_id is None else (compile_id,)


def _shares(crossings: list[_Crossing]) -> dict[str, float]:
    sums: defaultdict[str, float] = defaultdict(float)
    for crossing in crossings:
        length = crossing.entry_end_ns - crossing.start_ns
        for compile_id in crossing.ids:
            sums[compile_id] += length / len(crossing.ids)
    total = sum(sums.values())
    return {key: value / total for key, value in sums.items()} if total else {}
