"""A rank's trace without the time that its collectives waited for other ranks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from profiler_core.model.trace import DEVICE_SCHEMA, Trace


@dataclass(frozen=True)
class Wait:
    """A collective's kernel that waited, as the trace has it."""

    ts_ns: int  # on the trace's axis
    dur_ns: int
    wait_ns: int  # of dur_ns, from its start on
    last_rank: int  # that it waited for


def waits_of(calls: pl.DataFrame, rank: int) -> tuple[Wait, ...]:
    """The calls of one rank that waited.

    Args:
        calls: of `matched`.
        rank: whose.
    """
    waited = calls.filter(pl.col("rank") == rank, pl.col("is_shared"), pl.col("wait_ns") > 0)
    columns = waited.select("ts_ns", "dur_ns", "wait_ns", "last_rank").sort("ts_ns")
    return tuple(Wait(*row) for row in columns.iter_rows())


def without_waiting(trace: Trace, waits: Sequence[Wait]) -> Trace:
    """The trace, each collective beginning when the last rank had come.

    Args:
        trace: of the rank that the waits are of.
        waits: of `waits_of`.
    """
    if not waits or not trace.has_device_events:
        return trace
    rows = [(wait.ts_ns, wait.dur_ns, wait.wait_ns) for wait in waits]
    schema = {"ts_ns": pl.Int64, "dur_ns": pl.Int64, "wait_ns": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row").unique(["ts_ns", "dur_ns"])
    wait = pl.col("wait_ns").fill_null(0)
    device = (
        trace.device.join(table, on=["ts_ns", "dur_ns"], how="left", maintain_order="left")
        .with_columns(ts_ns=pl.col("ts_ns") + wait, dur_ns=pl.col("dur_ns") - wait)
        .select(list(DEVICE_SCHEMA))
        .sort("ts_ns", maintain_order=True)
    )
    return replace(trace, device=device)
