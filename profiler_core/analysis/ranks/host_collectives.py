"""The collectives of a rank without a GPU: ranges on the threads of gloo, MPI or UCC.

ProcessGroupGloo names them `gloo:all_reduce` (torch 2.1 to 2.15) and they last until the collective
is complete, the waiting for late ranks included, as a kernel of NCCL does. What each moves is not
in these traces.
"""

import bisect
import re

import polars as pl

from profiler_core.analysis.categories import CATEGORY
from profiler_core.analysis.per_name import per_name
from profiler_core.analysis.steps import Window
from profiler_core.model.trace import KERNEL, Trace

_RANGE = re.compile(r"(?:gloo|mpi|ucc):\w+")


def host_collectives(trace: Trace, window: Window, columns: pl.Schema) -> pl.DataFrame:
    """The collectives as rows of `categorise`, in order of ts_ns; empty on a trace with a GPU.

    Args:
        trace: of one rank.
        window: of the same trace; a collective belongs to the step in which it begins.
        columns: of the table that they are put beside.
    """
    if trace.has_device_events:
        return pl.DataFrame(schema=columns)
    tables = [t.select("ts_ns", "dur_ns", "name", "tid") for t in (trace.annotations, trace.ops)]
    ranges = pl.concat([_collectives(table) for table in tables]).sort("ts_ns")
    rows = ranges.select(
        "ts_ns",
        "dur_ns",
        pl.lit(KERNEL).cast(pl.Categorical()).alias("cat"),
        pl.col("name").cast(pl.Categorical()),
        pl.lit(0, pl.Int32()).alias("device"),
        pl.col("tid").alias("stream"),
        pl.lit("communication", CATEGORY).alias("category"),
        pl.Series("step", [_step(window, ts) for ts in ranges["ts_ns"]], pl.Int32()),
    )
    return rows.select(
        pl.col(name).cast(dtype) if name in rows.columns else pl.lit(None, dtype).alias(name)
        for name, dtype in columns.items()
    )


def _collectives(table: pl.DataFrame) -> pl.DataFrame:
    is_range = per_name(table["name"], lambda name: _RANGE.fullmatch(name) is not None, pl.Boolean)
    return table.filter(is_range).with_columns(pl.col("name").cast(pl.String))


def _step(window: Window, ts_ns: int) -> int | None:
    """The step's number; 0 in a trace without steps, None outside of all steps."""
    if not window.steps:
        return 0
    number = bisect.bisect_right([step.ts_ns for step in window.steps], ts_ns) - 1
    return number if number >= 0 and ts_ns < window.end_ns else None
