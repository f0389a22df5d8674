"""Lengths of unions of intervals, as single passes over sorted columns; all ns.

Intervals are the columns ts_ns and dur_ns of a frame: they may overlap, touch, nest and have no
length. Different devices never cover each other.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray


def clip(frame: pl.DataFrame, start_ns: int, end_ns: int) -> pl.DataFrame:
    """Cut intervals at the borders of a window; what lies outside keeps no length."""
    start = pl.col("ts_ns").clip(start_ns, end_ns)
    end = (pl.col("ts_ns") + pl.col("dur_ns")).clip(start_ns, end_ns)
    return frame.with_columns(start.alias("ts_ns"), (end - start).alias("dur_ns"))


def union_ns(frame: pl.DataFrame) -> int:
    """Length of the union of all intervals: instants that at least one of them covers.

    Args:
        frame: ts_ns and dur_ns in any order; 0 for an empty one.
    """
    starts = frame["ts_ns"].to_numpy()
    return union_of(starts, starts + frame["dur_ns"].to_numpy())


def union_of(starts: NDArray[Any], ends: NDArray[Any]) -> int:
    """The same for whole numbers in NumPy's arrays, a sixth of the cost for few of them."""
    if not starts.size:
        return 0
    starts, ends = _sorted(starts, ends)
    # What an interval adds is its part beyond the furthest end so far.
    covered = np.concatenate((starts[:1], np.maximum.accumulate(ends)[:-1]))
    return int(np.maximum(ends - np.maximum(starts, covered), 0).sum())


def union_ns_by(frame: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """`union_ns` of the intervals that share their keys, for any number of combinations.

    Args:
        frame: ts_ns, dur_ns and the keys, in any order.
        keys: columns.

    Returns:
        The keys, and union_ns; a row for each of their combinations.
    """
    ordered = frame.select(*keys, "ts_ns", end=pl.col("ts_ns") + pl.col("dur_ns")).sort("ts_ns")
    covered = pl.col("end").cum_max().shift(1).over(keys)
    added = pl.col("end") - pl.max_horizontal("ts_ns", covered)
    return (
        ordered.with_columns(union_ns=added.clip(lower_bound=0))
        .group_by(keys)
        .agg(pl.col("union_ns").sum())
    )


def merge(intervals: pl.DataFrame) -> pl.DataFrame:
    """Join what overlaps or touches.

    Args:
        intervals: columns start and end, in any order.

    Returns:
        (m, 2): start, end, sorted and disjoint; covers the same instants.
    """
    starts, ends = merged_of(intervals["start"].to_numpy(), intervals["end"].to_numpy())
    return pl.DataFrame({"start": starts, "end": ends})


def merged_of(starts: NDArray[Any], ends: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same for whole numbers in NumPy's arrays."""
    has_length = ends > starts
    starts, ends = _sorted(starts[has_length], ends[has_length])
    furthest = np.maximum.accumulate(ends)
    begins = np.ones(starts.size + 1, bool)
    begins[1:-1] = starts[1:] > furthest[:-1]
    # Where a run of overlapping intervals begins, the one before it has reached its end.
    return starts[begins[:-1]], furthest[begins[1:]]


def _sorted(starts: NDArray[Any], ends: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    if not (starts[1:] < starts[:-1]).any():  # tables of a trace are; looking costs a tenth
        return starts, ends
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order]


def covered_ns(merged: pl.DataFrame, points: pl.Series) -> pl.Series:
    """How much of the time before each point the intervals cover; differences give any span.

    Args:
        merged: as `merge` returns it.
        points: sorted ascending.
    """
    length = pl.col("end") - pl.col("start")
    with_lengths = merged.with_columns((length.cum_sum() - length).alias("before"))
    return (
        points.rename("point")
        .to_frame()
        .join_asof(with_lengths, left_on="point", right_on="start", strategy="backward")
        .select(
            (pl.col("before") + pl.min_horizontal("point", "end") - pl.col("start"))
            .fill_null(0)
            .alias("covered")
        )["covered"]
    )


def gaps(frame: pl.DataFrame, start_ns: int, end_ns: int) -> pl.DataFrame:
    """The instants of a window that no interval covers.

    Args:
        frame: ts_ns and dur_ns sorted by ts_ns, with any other columns.
        start_ns: of the window.
        end_ns: of the window.

    Returns:
        ts_ns, dur_ns > 0 of each gap, and the other columns of the interval that ends it. The
        last gap may be followed by none: `ends_window` is true and its other columns are null.
        The lengths and union_ns of the clipped frame sum to end_ns - start_ns.
    """
    within = clip(frame, start_ns, end_ns).filter(pl.col("dur_ns") > 0)
    end = pl.col("ts_ns") + pl.col("dur_ns")
    covered = end.cum_max().shift(1, fill_value=start_ns)
    between = within.with_columns(
        ts_ns=covered, dur_ns=pl.col("ts_ns") - covered, ends_window=pl.lit(value=False)
    )
    last = int(within.select(end.max()).item() or start_ns)
    tail = pl.DataFrame({"ts_ns": [last], "dur_ns": [end_ns - last], "ends_window": [True]})
    return pl.concat([between.filter(pl.col("dur_ns") > 0), tail], how="diagonal").filter(
        pl.col("dur_ns") > 0
    )
