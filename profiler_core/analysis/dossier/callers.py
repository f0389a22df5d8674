"""Who calls an operator of a CPU inside of itself, and so has its time."""

import polars as pl

from profiler_core.analysis.work import device_work
from profiler_core.model.trace import Trace


def callers_on_cpu(trace: Trace, name: str) -> tuple[str, ...]:
    """The operators that count as the CPU's work and call this one, the most frequent first.

    Returns:
        () of a trace with events of a device, where an operator's kernels are the work, and where
        no other calls it in a profiled step.
    """
    if trace.has_device_events:
        return ()
    work = (
        device_work(trace)
        .filter(pl.col("step").is_not_null(), pl.col("name").cast(pl.String) != name)
        .select(
            "ts_ns", "stream",
            caller=pl.col("name").cast(pl.String), end_ns=pl.col("ts_ns") + pl.col("dur_ns"),
        )
        .sort("ts_ns")
    )  # fmt: skip
    calls = trace.ops.filter(pl.col("name").cast(pl.String) == name).select("ts_ns", stream="tid")
    inside = (
        calls.sort("ts_ns")
        .join_asof(work, on="ts_ns", by="stream", check_sortedness=False)
        .filter(pl.col("ts_ns") < pl.col("end_ns"))
    )
    counts = inside.group_by("caller").len().sort("len", "caller", descending=[True, False])
    return tuple(counts["caller"])
