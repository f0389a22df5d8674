"""The peaks of the caching allocator: measured by the capture, else as the trace shows them."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from profiler_core.analysis.steps import Window
from profiler_core.model.run import Measurement
from profiler_core.model.trace import Trace

_CPU = 0  # c10::DeviceType


@dataclass(frozen=True)
class PeakMemory:
    """Peaks in bytes; None: neither the run nor the trace has them.

    Reserved is what the process holds. Allocated leaves out what a CUDA graph's private pool
    holds between replays, and a replay makes no [memory] events at all.
    """

    peak_allocated_bytes: int | None = None
    peak_reserved_bytes: int | None = None
    source: Literal["measured", "trace"] | None = None


def peak_memory(
    trace: Trace | None, window: Window | None, measurement: Measurement | None
) -> PeakMemory:
    """What the capture measured, else the peaks of the [memory] events in the window."""
    if measurement is not None and measurement.peak_reserved_bytes is not None:
        return PeakMemory(
            measurement.peak_allocated_bytes, measurement.peak_reserved_bytes, "measured"
        )
    if trace is None or window is None:
        return PeakMemory()
    device = pl.col("device_type") != _CPU
    wanted = device if trace.has_device_events else ~device
    seen = trace.memory.filter(wanted, pl.col("ts_ns").is_between(window.start_ns, window.end_ns))
    allocated = seen["total_allocated_bytes"].max()
    reserved = seen["total_reserved_bytes"].max()
    if allocated is None and reserved is None:
        return PeakMemory()
    # The CPU's allocator does not pool: Kineto writes 0 for what it reserves.
    return PeakMemory(_int(allocated), _int(reserved) or None, "trace")


def _int(value: object) -> int | None:
    return value if isinstance(value, int) else None
