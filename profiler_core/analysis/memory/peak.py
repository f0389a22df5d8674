"""The peaks of the caching allocator: measured by the capture, else as the trace shows them."""

from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.engines import memory_note
from profiler_core.analysis.memory.curve import memory_curves
from profiler_core.model.run import Measurement
from profiler_core.model.trace import Trace


@dataclass(frozen=True)
class PeakMemory:
    """Peaks in bytes; None: neither the run nor the trace has them.

    Reserved is what the process holds. Allocated leaves out what a CUDA graph's private pool
    holds between replays, and a replay makes no [memory] events at all.
    """

    peak_allocated_bytes: int | None = None
    peak_reserved_bytes: int | None = None
    source: Literal["measured", "profiled", "trace"] | None = None
    is_least: bool = False  # of what is left of a cut trace: the run's own peaks are at least these


def peak_memory(trace: Trace | None, measurement: Measurement | None) -> PeakMemory:
    """What the capture measured, else the peaks of the [memory] events of the profiled steps.

    Without both what the allocator said after these steps.

    None on the CPU where an engine keeps its tensors in memory of its own.
    """
    if measurement is not None and measurement.peak_reserved_bytes is not None:
        return PeakMemory(
            measurement.peak_allocated_bytes, measurement.peak_reserved_bytes, "measured"
        )
    if trace is not None and memory_note(trace):
        return PeakMemory()
    curves = memory_curves(trace) if trace is not None else ()
    if not curves and measurement is not None and measurement.peak_allocated_bytes is not None:
        return PeakMemory(measurement.peak_allocated_bytes, None, "measured")
    if not curves and measurement is not None and measurement.profiled_peak_reserved_bytes:
        return PeakMemory(
            measurement.profiled_peak_allocated_bytes,
            measurement.profiled_peak_reserved_bytes,
            "profiled",
        )
    if trace is None or not curves:
        return PeakMemory()
    return PeakMemory(
        curves[0].peak_allocated_bytes,
        curves[0].peak_reserved_bytes,
        "trace",
        is_least=trace.tally.is_cut,
    )
