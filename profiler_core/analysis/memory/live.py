"""What was held when the allocated peak was reached, by operator, module and source line."""

from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.memory.curve import MemoryCurve
from profiler_core.analysis.memory.frames import MODULE_CALL, function_of
from profiler_core.model.trace import Trace

_MOST_LOOKED_UP = 400  # allocations whose Python frames are looked for, the largest first


@dataclass(frozen=True)
class LiveRow:
    """Allocations of one origin that were alive. None: the trace does not say it."""

    operator: str  # the outermost operator, or the compiled kernel that the buffer was made for
    module: str | None
    source: str | None  # `model.py:12 forward`: where the function begins
    n: int
    bytes: int


@dataclass(frozen=True)
class LiveSet:
    """Allocated at the peak. before_bytes + the sum over rows == peak_bytes."""

    ts_ns: int
    peak_bytes: int
    before_bytes: int  # held since before the profiled steps: weights, inputs, workspaces
    rows: tuple[LiveRow, ...]  # largest first


def live_at_peak(trace: Trace, curve: MemoryCurve, made: pl.DataFrame) -> LiveSet:
    """The live set at the first moment of the allocated peak.

    Args:
        trace: of the curve.
        curve: not decimated.
        made: `allocations` of the curve's device.
    """
    at = curve.peak_ts_ns
    # At one time stamp the allocation that made the peak comes last; frees come after it.
    alive = made.filter(
        pl.col("ts_ns") <= at, pl.col("freed_ns").is_null() | (pl.col("freed_ns") > at)
    )
    origins = _with_frames(alive, trace).with_columns(operator=origin())
    rows = (
        origins.group_by("operator", "module", "source")
        .agg(n=pl.len(), bytes=pl.col("bytes").sum())
        .sort("bytes", "operator", descending=[True, False])
    )
    alive_bytes = int(alive["bytes"].sum())
    peak = curve.peak_allocated_bytes
    return LiveSet(
        at, peak, peak - alive_bytes, tuple(LiveRow(**row) for row in rows.iter_rows(named=True))
    )


def origin() -> pl.Expr:
    """What to call the origin of an allocation."""
    return pl.coalesce("operator", pl.col("kernel"), pl.lit("(outside of operators)"))


def _with_frames(alive: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Module and source of the largest allocations, where the trace has Python frames."""
    if trace.python.height == 0:
        missing = pl.lit(None, pl.String)
        return alive.with_columns(module=missing, source=missing)
    frames = trace.python.select(
        "ts_ns", "tid", end_ns=pl.col("ts_ns") + pl.col("dur_ns"), name=pl.col("name")
    )
    largest = alive.sort("bytes", descending=True).head(_MOST_LOOKED_UP)
    frames_of_rows = []
    for row in largest.iter_rows(named=True):
        around = frames.filter(
            pl.col("ts_ns") <= row["ts_ns"],
            pl.col("end_ns") > row["ts_ns"],
            pl.col("tid") == row["tid"],
        ).sort("ts_ns", descending=True)  # the innermost first
        frames_of_rows.append(_module_and_source(around["name"].cast(pl.String).to_list()))
    with_frames = largest.with_columns(
        module=pl.Series([row_frames[0] for row_frames in frames_of_rows], dtype=pl.String),
        source=pl.Series([row_frames[1] for row_frames in frames_of_rows], dtype=pl.String),
    )
    smaller = alive.sort("bytes", descending=True).slice(_MOST_LOOKED_UP)
    return pl.concat([with_frames, smaller], how="diagonal")


def _module_and_source(names: list[str]) -> tuple[str | None, str | None]:
    modules = (n.removeprefix(MODULE_CALL) for n in names if n.startswith(MODULE_CALL))
    return next(modules, None), next(filter(None, map(function_of, names)), None)
