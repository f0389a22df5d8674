"""How much memory the allocator held along the profiled steps, from the [memory] events.

Each event carries the totals after it (torch/csrc/profiler, reportMemoryUsage), so the curve needs
no adding up; what was held before the first event is its total without its own bytes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.work import host_steps
from profiler_core.model.trace import Trace

_CPU = 0  # c10::DeviceType
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MemoryCurve:
    """Totals of one device's allocator along the host's clock; a value holds until the next.

    The first point is the level before the first event. peak_* are the maxima over all points.
    """

    device_type: int  # c10::DeviceType: 0 CPU, 1 CUDA
    device_id: int
    ts_ns: Numbers  # ascending
    allocated_bytes: Numbers
    reserved_bytes: Numbers | None  # None: this allocator does not pool (CPU)
    step_ts_ns: tuple[int, ...]  # starts of the profiled steps, on the same clock

    @property
    def peak_step(self) -> int:
        """The profiled step, from 0, in which tensors hold the most; the first of equals."""
        first = np.searchsorted(self.ts_ns, self.step_ts_ns, side="left")
        if not len(first) or first[0] >= len(self.ts_ns):
            return 0
        highest = int(first[0] + self.allocated_bytes[first[0] :].argmax())
        return max(0, int(np.searchsorted(self.step_ts_ns, self.ts_ns[highest], side="right")) - 1)

    @property
    def peak_allocated_bytes(self) -> int:
        """The most that tensors held at once."""
        return int(self.allocated_bytes.max())

    @property
    def peak_reserved_bytes(self) -> int | None:
        """The most that the allocator held from the device."""
        return None if self.reserved_bytes is None else int(self.reserved_bytes.max())

    @property
    def peak_ts_ns(self) -> int:
        """When the allocated peak was reached first."""
        return int(self.ts_ns[int(self.allocated_bytes.argmax())])

    @property
    def is_of_cpu(self) -> bool:
        """Is this the host's memory? Then only what was allocated under the profiler counts."""
        return self.device_type == _CPU


def memory_curves(trace: Trace) -> tuple[MemoryCurve, ...]:
    """A curve for each device that has [memory] events, the one to look at first.

    The highest peak comes first. The host's own allocator only counts where there is no other
    device: beside a GPU it holds a few bytes, and nobody asks for them. A GPU whose kernels the
    trace lacks, cut short before them, is still told by its allocations. Empty: the profiler ran
    without profile_memory, or nothing was allocated (a CUDA graph's replay allocates nothing).
    """
    steps = tuple(host_steps(trace)["ts_ns"])
    curves = [
        _curve(events, steps)
        for (_, _), events in device_events(trace).group_by(
            "device_type", "device_id", maintain_order=True
        )
    ]
    beside_gpu = trace.has_device_events or not all(c.is_of_cpu for c in curves)
    shown = [c for c in curves if c.is_of_cpu != beside_gpu]
    return tuple(sorted(shown, key=lambda c: -c.peak_allocated_bytes))


def device_events(trace: Trace) -> pl.DataFrame:
    """The [memory] events of the profiled steps with all their numbers, in order of time.

    Without ProfilerStep annotations all of them count.
    """
    events = _without_shared(
        trace.memory.drop_nulls(["total_allocated_bytes", "device_type"]).with_columns(
            pl.col("bytes").fill_null(0), pl.col("device_id").fill_null(-1)
        )
    )
    steps = host_steps(trace)
    if steps.height == 0:
        return events
    return events.filter(pl.col("ts_ns").is_between(steps["ts_ns"][0], steps["end_ns"].max()))


def _without_shared(events: pl.DataFrame) -> pl.DataFrame:
    """Without the shared memory through which a data loader's workers hand over their batches.

    It is mapped, not allocated: its events say 0 for what the allocator holds, and those that map
    it say their own size for what is reserved (ATen/MapAllocator.cpp). The CPU's allocator reserves
    nothing, and where it holds nothing any more, its last free was of all that it held.
    """
    of_cpu = pl.col("device_type") == _CPU
    is_mapping = of_cpu & (pl.col("total_reserved_bytes").fill_null(0) > 0)
    is_empty = of_cpu & (pl.col("total_allocated_bytes") == 0) & (pl.col("bytes") != 0)
    held_before = (
        pl.when(~is_mapping & ~is_empty & of_cpu)
        .then("total_allocated_bytes")
        .forward_fill()
        .shift(1)
    )
    is_unmapping = is_empty & (held_before.fill_null(0) + pl.col("bytes") != 0)
    return events.filter(~(is_mapping | is_unmapping))


def decimated(curve: MemoryCurve, n_most: int = 3000) -> MemoryCurve:
    """The same curve with fewer points; each lowest and highest value of a stretch stays exact.

    Of each of n_most / 4 equal stretches of events the first and last, the least and the most
    allocated and the most reserved are kept, so that no peak is ever lost.
    """
    n = len(curve.ts_ns)
    if n <= n_most:
        return curve
    row_set = {0, n - 1}
    reserved = curve.reserved_bytes
    for stretch in np.array_split(np.arange(n), max(1, n_most // 5)):
        allocated = curve.allocated_bytes[stretch]
        first = int(stretch[0])
        row_set |= {
            first,
            int(stretch[-1]),
            first + int(allocated.argmin()),
            first + int(allocated.argmax()),
        }
        if reserved is not None:
            row_set.add(first + int(reserved[stretch].argmax()))
    rows = np.array(sorted(row_set))
    return MemoryCurve(
        curve.device_type,
        curve.device_id,
        curve.ts_ns[rows],
        curve.allocated_bytes[rows],
        None if reserved is None else reserved[rows],
        curve.step_ts_ns,
    )


def _curve(events: pl.DataFrame, steps: tuple[int, ...]) -> MemoryCurve:
    first = events.row(0, named=True)
    start = min(first["ts_ns"], steps[0]) if steps else first["ts_ns"]
    allocated = _after(first["total_allocated_bytes"] - first["bytes"], events, "allocated")
    # Kineto writes 0 for what an allocator without a pool reserves.
    reserved = events["total_reserved_bytes"]
    pools = bool((reserved.fill_null(0) > 0).any())
    return MemoryCurve(
        device_type=first["device_type"],
        device_id=first["device_id"],
        ts_ns=np.concatenate([[start], events["ts_ns"].to_numpy()]).astype(np.int64),
        allocated_bytes=allocated,
        reserved_bytes=_after(reserved.fill_null(0)[0], events, "reserved") if pools else None,
        step_ts_ns=steps,
    )


def _after(level: int, events: pl.DataFrame, kind: str) -> Numbers:
    totals = events[f"total_{kind}_bytes"].fill_null(strategy="forward").fill_null(0)
    return np.concatenate([[level], totals.to_numpy()]).astype(np.int64)
