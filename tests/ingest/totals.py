"""Totals over all events of an opened trace, in plain Python, named as in tests/reference.py."""

from profiler_core.model.trace import Trace
from tests.reference import union


def file_totals(trace: Trace) -> dict[str, int]:
    """What `reference.totals` calls file_…, from the tables of the model."""
    device = trace.device.select("cat", "ts_ns", "dur_ns").rows()
    kernels = [dur for cat, _, dur in device if cat == "kernel"]
    return {
        "file_n_kernels": len(kernels),
        "file_n_memcpy": sum(cat == "gpu_memcpy" for cat, _, _ in device),
        "file_n_memset": sum(cat == "gpu_memset" for cat, _, _ in device),
        "file_kernel_time_ns": sum(kernels),
        "file_busy_ns": union([(ts, ts + dur) for _, ts, dur in device]),
        "file_n_ops": trace.ops.height,
        "file_n_calls": trace.runtime.height,
        "file_n_python": trace.python.height,
        "file_n_memory": trace.memory.height,
    }
