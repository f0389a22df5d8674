"""Busy, idle and exposed device time of the window (docs/columns.md, Device time)."""

from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.intervals import clip, union_ns
from profiler_core.analysis.steps import Window
from profiler_core.model.trace import KERNEL


@dataclass(frozen=True)
class GpuTime:
    """How one device spent the window, ns.

    busy_ns + idle_ns == the window;
    compute_ns + exposed_communication_ns + exposed_copy_ns == busy_ns.
    """

    device: int
    busy_ns: int  # union of the intervals of all its streams
    idle_ns: int
    compute_ns: int  # union of kernels that are no communication
    exposed_communication_ns: int  # communication that no compute covers
    exposed_copy_ns: int  # memcpy and memset that neither compute nor communication covers


def gpu_time(work: pl.DataFrame, window: Window) -> tuple[GpuTime, ...]:
    """One record for each device, the busiest first.

    Args:
        work: counted device events with `category`; device may be null (one device then).
        window: what to clip to.
    """
    narrow = work.select("ts_ns", "dur_ns", "cat", "category", "device")
    clipped = clip(narrow, window.start_ns, window.end_ns)
    times = [
        _of_device(device or 0, clipped.filter(pl.col("device").eq_missing(device)), window)
        for device in clipped["device"].unique().sort()
    ]
    return tuple(sorted(times, key=lambda time: (-time.busy_ns, time.device)))


def _of_device(device: int, work: pl.DataFrame, window: Window) -> GpuTime:
    communication = pl.col("category") == "communication"
    kernel = pl.col("cat") == KERNEL
    busy = union_ns(work)
    kernels = work.filter(kernel)
    compute_or_communication = union_ns(kernels) if kernels.height < work.height else busy
    others = kernels.filter(~communication)
    compute = union_ns(others) if others.height < kernels.height else compute_or_communication
    return GpuTime(
        device=device,
        busy_ns=busy,
        idle_ns=window.dur_ns - busy,
        compute_ns=compute,
        exposed_communication_ns=compute_or_communication - compute,
        exposed_copy_ns=busy - compute_or_communication,
    )
