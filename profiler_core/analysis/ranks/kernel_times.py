"""What each kernel of a rank costs when no collective runs beside it, and how often it runs.

A collective occupies multiprocessors, while it waits too: kernels beside it take longer (an H200's
products in fp32 by 10 to 35 %). So a rank that waits seems to compute for longer. Durations of
kernels with no collective beside them tell what the work itself costs.
"""

from collections.abc import Sequence
from hashlib import blake2b

import polars as pl

from profiler_core.analysis.categories import CATEGORY
from profiler_core.model.trace import KERNEL

COMMUNICATION = "communication"

KERNEL_TIME_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "step": pl.String(),  # name of the step
    "key": pl.UInt64(),  # of name, grid and block: ranks are joined on it
    "category": CATEGORY,
    "n": pl.Int64(),
    "dur_ns": pl.Int64(),
    "n_alone": pl.Int64(),  # of these, without a collective beside them
    "alone_ns": pl.Int64(),
}


def kernel_times(work: pl.DataFrame, step_names: Sequence[str]) -> pl.DataFrame:
    """Device events that are no communication, by step and kind of kernel.

    Args:
        work: of `categorise`.
        step_names: by number of the step.

    Returns:
        As KERNEL_TIME_SCHEMA; copies and memsets are a key for each name.
    """
    in_steps = work.filter(pl.col("step").is_not_null())
    is_communication = pl.col("category") == COMMUNICATION
    collectives = in_steps.filter(is_communication)
    kernels = in_steps.filter(~is_communication).select(
        "step", "name", "grid", "block", "category", "ts_ns", "dur_ns", "cat"
    )
    if kernels.height == 0:
        return pl.DataFrame(schema=KERNEL_TIME_SCHEMA)
    starts = collectives["ts_ns"].sort()
    ends = (collectives["ts_ns"] + collectives["dur_ns"]).sort()
    n_begun = starts.search_sorted(kernels["ts_ns"] + kernels["dur_ns"], side="left")
    n_over = ends.search_sorted(kernels["ts_ns"], side="right")
    is_alone = (n_begun == n_over) | (kernels["cat"] != KERNEL)
    totals = (
        kernels.with_columns(is_alone.alias("is_alone"), pl.col("name").cast(pl.String))
        .group_by("step", "name", "grid", "block", "category", maintain_order=True)
        .agg(
            pl.len().alias("n"),
            pl.col("dur_ns").sum(),
            pl.col("is_alone").sum().alias("n_alone"),
            pl.col("dur_ns").filter("is_alone").sum().alias("alone_ns"),
        )
    )
    keys = [_key(*row) for row in totals.select("name", "grid", "block").iter_rows()]
    names = dict(enumerate(step_names))
    return totals.with_columns(
        pl.Series("key", keys, pl.UInt64),
        pl.col("step").replace_strict(names, return_dtype=pl.String),
    ).select(pl.col(column).cast(dtype) for column, dtype in KERNEL_TIME_SCHEMA.items())


def cost_alone(ranks: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """What one call of each kind of kernel costs with nothing beside it: key, call_ns.

    The mean over all calls of all ranks that ran alone; of a kernel that never does, the mean of
    the rank where it is shortest.

    Args:
        ranks: of `kernel_times`.
    """
    each = pl.concat([_of_rank(times, rank) for rank, times in enumerate(ranks)])
    return (
        each.group_by("key")
        .agg(
            pl.col("alone_ns").sum(),
            pl.col("n_alone").sum(),
            (pl.col("dur_ns") / pl.col("n")).min().alias("least_ns"),
        )
        .select(
            "key",
            pl.when(pl.col("n_alone") > 0)
            .then(pl.col("alone_ns") / pl.col("n_alone"))
            .otherwise("least_ns")
            .alias("call_ns"),
        )
    )


def _of_rank(times: pl.DataFrame, rank: int) -> pl.DataFrame:
    sums = times.group_by("key").agg(pl.col("n", "dur_ns", "n_alone", "alone_ns").sum())
    return sums.with_columns(rank=pl.lit(rank))


def _key(name: str, grid: str | None, block: str | None) -> int:
    text = "\0".join((name, grid or "", block or ""))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
