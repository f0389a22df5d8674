"""The passes after the timing: profiler, Python stacks, peak memory, memory snapshot, counters.

They come after every timed round, because the profiler slows a process down even after it ended
(CUPTI is not torn down with CUDA graphs: pytorch#144455).
"""

from __future__ import annotations

import gc
import time
from typing import Any, Dict

from .step import Step
from .timing import Clock

_SNAPSHOT_ENTRIES = 100_000  # events of one or two steps; the ring buffer of torch is this long


def profile(
    step: Step, clock: Clock, device: Any, path: str, schedule: Dict[str, int], stacks: bool
) -> Dict[str, Any]:
    """Write a Kineto trace of `active` steps (rounded up to whole cycles of shapes).

    repeat=1 and on_trace_ready, both: a schedule that starts over makes a late export empty.
    The allocator's own peaks are those of the active steps, the very span of the [memory] events.
    started_ns (epoch) and wall_ns are of all steps on the host, without the export.
    """
    from torch import profiler

    n = step.n_shapes
    wait, warmup, active = (
        schedule[key] + -schedule[key] % n for key in ("wait", "warmup", "active")
    )
    activities = [profiler.ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(profiler.ProfilerActivity.CUDA)
    clock.synchronize()
    exported = []

    def export(finished: Any) -> None:
        finished.export_chrome_trace(path)
        exported.append(path)

    with profiler.profile(
        activities=activities,
        schedule=profiler.schedule(wait=wait, warmup=warmup, active=active, repeat=1),
        on_trace_ready=export,
        record_shapes=True,
        profile_memory=True,
        with_flops=not stacks,
        with_stack=stacks,
        with_modules=stacks,
    ) as running:
        measured = {}
        started_ns, before = time.time_ns(), time.perf_counter_ns()
        for index in range(wait + warmup + active):
            if index == wait + warmup:
                _reset_peaks(device)
            step(index)
            if index == wait + warmup + active - 1:
                wall_ns = time.perf_counter_ns() - before
                measured = _peaks(device)
            running.step()
    clock.synchronize()
    return {
        "n_active_steps": active,
        "exported": bool(exported),
        "started_ns": started_ns,
        "wall_ns": wall_ns,
        **measured,
    }


def peaks(step: Step, clock: Clock, device: Any) -> Dict[str, Any]:
    """Peak memory of a few steady steps, in a pass of its own.

    What compiling and autotuning left in the allocator's cache is given back first, so that
    peak_reserved_bytes is what the steps need (a CUDA graph's pool is kept, and counts).
    """
    if device.type != "cuda":
        return _peaks(device)
    import torch

    gc.collect()
    clock.synchronize()
    torch.cuda.empty_cache()
    _reset_peaks(device)
    for index in range(max(3, step.n_shapes)):
        step(index)
    clock.synchronize()
    return _peaks(device)


def _reset_peaks(device: Any) -> None:
    if device.type == "cuda":
        import torch

        torch.cuda.reset_peak_memory_stats(device)


def _peaks(device: Any) -> Dict[str, Any]:
    """Both peaks since the last reset; null where the allocator keeps none."""
    if device.type != "cuda":
        return {"peak_allocated_bytes": None, "peak_reserved_bytes": None}
    import torch

    return {
        "peak_allocated_bytes": torch.cuda.max_memory_allocated(device),
        "peak_reserved_bytes": torch.cuda.max_memory_reserved(device),
    }


def snapshot(step: Step, clock: Clock, path: str) -> Dict[str, Any]:
    """Write torch's memory snapshot of one step of each shape, with the allocations' history."""
    from torch.cuda import memory

    clock.synchronize()
    # Python frames only: to name the C++ ones takes minutes.
    memory._record_memory_history(stacks="python", max_entries=_SNAPSHOT_ENTRIES)
    try:
        for index in range(step.n_shapes):
            step(index)
        clock.synchronize()
        memory._dump_snapshot(path)
    finally:
        memory._record_memory_history(enabled=None)
    return {}


def counted(step: Step, clock: Clock) -> Dict[str, Any]:
    """One step of each shape between cudaProfilerStart and -Stop, for Nsight Compute around us."""
    from torch.cuda import profiler

    clock.synchronize()
    profiler.start()
    try:
        for index in range(step.n_shapes):
            step(index)
        clock.synchronize()
    finally:
        profiler.stop()
    return {"n_steps": step.n_shapes}
