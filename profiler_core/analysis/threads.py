"""One axis for the ranges of all host threads, so that one pass orders them all."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

_FEW_THREADS = 8


@dataclass(frozen=True)
class ThreadAxis:
    """Thread after thread on one axis of ns: at = number of the thread * span_ns + ts_ns."""

    threads: pl.DataFrame  # pid, tid, offset
    span_ns: int

    def place(self, ranges: pl.DataFrame) -> pl.DataFrame:
        """Ranges (ts_ns, dur_ns, pid, tid …) with start and end on the axis added.

        Ranges of threads that the axis does not know are dropped.
        """
        start = pl.col("ts_ns").clip(0, self.span_ns - 1)
        end = (pl.col("ts_ns") + pl.col("dur_ns")).clip(0, self.span_ns - 1)
        if self.threads.height > _FEW_THREADS:
            on_axis, offset = ranges.join(self.threads, on=["pid", "tid"]), pl.col("offset")
        else:  # a chain of comparisons costs a tenth of a join
            on_axis, offset = ranges, self._offset()
        return (
            on_axis.with_columns(start=offset + start, end=offset + end)
            .filter(pl.col("start").is_not_null())
            .drop("offset", strict=False)
        )

    def _offset(self) -> pl.Expr:
        offset = pl.lit(None, pl.Int64)
        for pid, tid, at in self.threads.iter_rows():
            offset = (
                pl.when((pl.col("pid") == pid) & (pl.col("tid") == tid)).then(at).otherwise(offset)
            )
        return offset


@dataclass(frozen=True)
class PlacedLaunches:
    """Launches on an axis of their threads, in order: what lies around them is asked of it."""

    axis: ThreadAxis
    starts: npt.NDArray[np.int64]  # in order
    rows: npt.NDArray[np.int64]  # of the events that they launched

    def within(self, ranges: pl.DataFrame) -> npt.NDArray[np.int64]:
        """The rows of the events whose launch lies in one of the ranges.

        The outermost ranges are disjoint: the launches in them are those between a start and its
        end, of which few are looked for among many.

        Args:
            ranges: that `axis` has placed, ordered by start, the longer one first.
        """
        outermost = ranges.filter(
            (pl.col("start") >= pl.col("end").cum_max().shift(1)).fill_null(value=True)
        )
        opened = np.searchsorted(self.starts, outermost["start"].to_numpy(), side="left")
        closed = np.searchsorted(self.starts, outermost["end"].to_numpy(), side="left")
        change = np.bincount(opened, minlength=self.starts.size + 1)
        change -= np.bincount(closed, minlength=self.starts.size + 1)
        return self.rows[np.cumsum(change[:-1]) > 0]


def placed_launches(events: pl.DataFrame) -> PlacedLaunches:
    """The launches of device events.

    Args:
        events: row, launch_ts_ns, launch_pid and launch_tid; all launched, one at least.
    """
    axis = thread_axis(events, int(events["launch_ts_ns"].max()) + 1)  # type: ignore[arg-type]
    launches = axis.place(
        events.select(
            "row",
            ts_ns="launch_ts_ns",
            dur_ns=pl.lit(0, pl.Int64),
            pid="launch_pid",
            tid="launch_tid",
        )
    ).sort("start")
    return PlacedLaunches(axis, launches["start"].to_numpy(), launches["row"].to_numpy())


def thread_axis(launches: pl.DataFrame, end_ns: int) -> ThreadAxis:
    """An axis for the threads that launched something.

    Args:
        launches: with launch_pid and launch_tid.
        end_ns: no instant of interest is later; later ends are cut there.
    """
    threads = (
        launches.select(pid="launch_pid", tid="launch_tid")
        .drop_nulls()
        .unique(maintain_order=True)
        .with_row_index("number")
    )
    span = end_ns + 1
    offsets = threads.select("pid", "tid", offset=pl.col("number").cast(pl.Int64) * span)
    return ThreadAxis(offsets, span)
