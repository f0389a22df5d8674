"""Counter tracks: what the allocator held, and what NVML read while the trace was recorded."""

from collections.abc import Iterator

from profiler_core.analysis.memory.curve import memory_curves
from profiler_core.export.chrome import Event, us
from profiler_core.model.telemetry import GpuSample, GpuSamples
from profiler_core.model.trace import Trace

# What is drawn of a sample, and what it is called.
_TELEMETRY = {
    "power_w": "power (W)",
    "sm_clock_mhz": "SM clock (MHz)",
    "memory_clock_mhz": "memory clock (MHz)",
    "utilization_gpu_pct": "utilisation (%)",
    "utilization_memory_pct": "memory utilisation (%)",
    "temperature_c": "temperature (°C)",
    "memory_used_bytes": "memory used (bytes)",
}


def memory_counters(trace: Trace, pid: int, zero_ns: int) -> Iterator[Event]:
    """Allocated and reserved bytes of each device, at each change."""
    for curve in memory_curves(trace):
        device = "CPU" if curve.is_of_cpu else f"GPU {curve.device_id}"
        tracks = [("allocated", curve.allocated_bytes)]
        if curve.reserved_bytes is not None:
            tracks.append(("reserved", curve.reserved_bytes))
        for quantity, values in tracks:
            last = None
            for ts_ns, value in zip(curve.ts_ns.tolist(), values.tolist(), strict=True):
                if value != last:
                    yield _counter(device, f"{quantity} (bytes)", pid, ts_ns - zero_ns, value)
                last = value


def samples_during(samples: GpuSamples, trace: Trace, start_ns: int, end_ns: int) -> GpuSamples:
    """The samples between two moments of the trace, with the one before and the one after.

    NVML is read 20 times a second and a profiled step takes milliseconds, so the neighbours are
    often all there is; those farther away than a second would only stretch the axis.
    """
    margin_ns = 1_000_000_000
    first, last = trace.origin_ns + start_ns, trace.origin_ns + end_ns
    chosen: list[GpuSample] = []
    for index in samples.indexes:
        every = samples.of(index)
        before = [s for s in every if first - margin_ns <= s.t_ns < first]
        after = [s for s in every if last < s.t_ns <= last + margin_ns]
        chosen += before[-1:] + [s for s in every if first <= s.t_ns <= last] + after[:1]
    return GpuSamples(tuple(chosen), samples.tally)


def telemetry_counters(samples: GpuSamples, pid: int, zero_ns: int) -> Iterator[Event]:
    """Clocks, power, temperature and use of each GPU.

    Args:
        samples: those to draw.
        pid: of the run.
        zero_ns: epoch ns at which the file begins.
    """
    for sample in samples.samples:
        for key, name in _TELEMETRY.items():
            value = getattr(sample, key)
            if value is not None:
                yield _counter(f"GPU {sample.gpu_index}", name, pid, sample.t_ns - zero_ns, value)


def earliest_ns(samples: GpuSamples, default_ns: int) -> int:
    """Epoch ns of the first sample."""
    return min((s.t_ns for s in samples.samples), default=default_ns)


def _counter(device: str, quantity: str, pid: int, ts_ns: int, value: float) -> Event:
    """Perfetto calls the track by both, "GPU 0 power (W)"."""
    return {"ph": "C", "name": device, "pid": pid, "ts": us(ts_ns), "args": {quantity: value}}
