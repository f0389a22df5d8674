"""One axis for the ranges of all host threads, so that one pass orders them all."""

from dataclasses import dataclass

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
