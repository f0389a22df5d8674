"""A server's trace with the steps of one phase and batch size alone, each a profiled step.

What is asked of the steps of any trace (the ledger, modules, operators) can then be asked of them.
"""

from dataclasses import replace

import numpy as np
import polars as pl

from profiler_core.analysis.graph_replays.join import ReplayedCalls, replayed_calls
from profiler_core.analysis.graph_replays.phases import (
    Bucket,
    step_of_event,
    step_of_launch,
    steps_by_bucket,
)
from profiler_core.analysis.graph_replays.servers import server_steps
from profiler_core.analysis.work import device_work
from profiler_core.model.trace import Trace

_STEP = "ProfilerStep#"


def bucket_steps(trace: Trace, bucket: Bucket) -> Trace:
    """The trace as if the profiler had recorded these steps and nothing else on the device.

    A step lasts until the next one of any kind begins, as it does for `server_phases`: so the
    device time of all buckets sums to that of all steps. Without such steps it has none.

    Args:
        trace: of a server.
        bucket: one of `server_phases(trace)`.
    """
    steps = server_steps(trace)
    numbers = steps_by_bucket(trace, steps).get(bucket, [])
    work = device_work(trace)

    def inside(ts_ns: pl.Series) -> pl.Series:
        return pl.Series(np.isin(step_of_launch(steps, ts_ns), numbers), dtype=pl.Boolean)

    kept = pl.Series(np.isin(step_of_event(steps, work), numbers), dtype=pl.Boolean)
    annotations = trace.annotations.filter(
        inside(trace.annotations["ts_ns"]) & ~pl.col("name").cast(pl.String).str.starts_with(_STEP)
    )
    cut = replace(
        trace,
        device=trace.device.filter(kept) if trace.has_device_events else trace.device,
        ops=trace.ops.filter(inside(trace.ops["ts_ns"])),
        annotations=pl.concat([annotations, _profiled(trace, numbers)]).sort(
            "ts_ns", maintain_order=True
        ),
    )
    if trace.has_device_events:
        joined = _replayed(replayed_calls(trace), kept)
        cut.derived("replayed calls", lambda _: joined)  # the order of all steps told them apart
    return cut


def _profiled(trace: Trace, numbers: list[int]) -> pl.DataFrame:
    """A range of the profiler for each of some steps, on the thread of its annotation."""
    steps = server_steps(trace)
    hosts = (trace.ops, trace.runtime, trace.annotations)
    ends = [table.select((pl.col("ts_ns") + pl.col("dur_ns")).max()).item() for table in hosts]
    last = max(end for end in ends if end is not None)
    borders = [*(step.ts_ns for step in steps), last + 1]
    ranges = pl.DataFrame(
        {
            "ts_ns": [borders[number] for number in numbers],
            "own_ns": [steps[number].end_ns - borders[number] for number in numbers],
            "until_ns": [borders[number + 1] for number in numbers],
        },
        schema={"ts_ns": pl.Int64, "own_ns": pl.Int64, "until_ns": pl.Int64},
    )
    return (
        trace.annotations.join(
            ranges, left_on=["ts_ns", "dur_ns"], right_on=["ts_ns", "own_ns"], how="inner"
        )
        .unique("ts_ns", keep="first", maintain_order=True)
        .with_row_index("number")
        .with_columns(
            dur_ns=pl.col("until_ns") - pl.col("ts_ns"),
            name=pl.format(f"{_STEP}{{}}", "number").cast(pl.Categorical),
        )
        .select(trace.annotations.columns)
    )


def _replayed(calls: ReplayedCalls, kept: pl.Series) -> ReplayedCalls:
    """The joined calls of the device events that are kept, by their new rows."""
    rows = pl.DataFrame({"event": kept.arg_true()}).with_row_index("row_kept")
    own = calls.calls.join(rows, on="event", how="inner", maintain_order="left")
    return replace(calls, calls=own.select(pl.col("row_kept").alias("event"), "source", "row"))
