"""What each kernel of a rank costs when no collective runs beside it, and how often it runs.

A collective occupies multiprocessors, while it waits too: kernels beside it take longer (an H200's
products in fp32 by 10 to 35 %). So a rank that waits seems to compute for longer. Durations of
kernels with no collective beside them tell what the work itself costs.
"""

from collections.abc import Sequence
from hashlib import blake2b

import polars as pl

from profiler_core.analysis.categories import CATEGORY
from profiler_core.analysis.event_operators import event_operators
from profiler_core.model.trace import KERNEL, Trace

COMMUNICATION = "communication"

# What is one kind of kernel: products of other inner sizes have the same name, grid and block, so
# that the shapes of the operator that launched it belong to it, where they were recorded.
KIND = ("name", "grid", "block", "input_dims")
# Calls of one size with nothing beside them differ by some percent, other sizes by whole factors.
_ONE_SIZE = 1.3
KERNEL_TIME_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "step": pl.String(),  # name of the step
    "key": pl.UInt64(),  # of KIND: ranks are joined on it
    # Name and grid, where a collective ran beside it: what a reader is told of; else null
    "label": pl.String(),
    "category": CATEGORY,
    "n": pl.Int64(),
    "dur_ns": pl.Int64(),
    "n_alone": pl.Int64(),  # of these, without a collective beside them
    "alone_ns": pl.Int64(),
    "least_alone_ns": pl.Int64(),  # of a call; null: none ran alone
    "most_alone_ns": pl.Int64(),
}


def kernel_times(trace: Trace, work: pl.DataFrame, step_names: Sequence[str]) -> pl.DataFrame:
    """Device events that are no communication, by step and kind of kernel.

    Args:
        trace: of the rank.
        work: its `categorise`, each event with its step.
        step_names: by number of the step.

    Returns:
        As KERNEL_TIME_SCHEMA; copies and memsets are a key for each name.
    """
    marked = with_alone(with_shapes(trace, work))
    kernels = marked.filter(pl.col("step").is_not_null(), pl.col("category") != COMMUNICATION)
    if kernels.height == 0:
        return pl.DataFrame(schema=KERNEL_TIME_SCHEMA)
    totals = (
        kernels.with_columns(pl.col("name").cast(pl.String))
        .group_by("step", *KIND, "category", maintain_order=True)
        .agg(
            pl.len().alias("n"),
            pl.col("dur_ns").sum(),
            pl.col("is_alone").sum().alias("n_alone"),
            pl.col("dur_ns").filter("is_alone").sum().alias("alone_ns"),
            pl.col("dur_ns").filter("is_alone").min().alias("least_alone_ns"),
            pl.col("dur_ns").filter("is_alone").max().alias("most_alone_ns"),
        )
    )
    keys = [key_of(*row) for row in totals.select(KIND).iter_rows()]
    names = dict(enumerate(step_names))
    return totals.with_columns(
        pl.Series("key", keys, pl.UInt64),
        pl.when(pl.col("n_alone") < pl.col("n"))
        .then(pl.concat_str("name", pl.col("grid").fill_null(""), separator=" "))
        .str.strip_chars()
        .alias("label"),
        pl.col("step").replace_strict(names, return_dtype=pl.String),
    ).select(pl.col(column).cast(dtype) for column, dtype in KERNEL_TIME_SCHEMA.items())


def with_shapes(trace: Trace, work: pl.DataFrame) -> pl.DataFrame:
    """Device events with `input_dims` of the operator that launched them; null: not recorded.

    Args:
        trace: of the events.
        work: all of them, in the order of `categorise`.
    """
    rows = work.with_row_index("event")
    dims = event_operators(trace, rows).select("event", "input_dims")
    return rows.join(dims, on="event", how="left", maintain_order="left").drop("event")


def with_alone(work: pl.DataFrame) -> pl.DataFrame:
    """Device events with `is_alone`: no collective of the steps runs beside it.

    Copies and memsets count as alone: they take no multiprocessors.

    Args:
        work: of `categorise`.
    """
    collectives = work.filter(pl.col("step").is_not_null(), pl.col("category") == COMMUNICATION)
    starts = collectives["ts_ns"].sort()
    ends = (collectives["ts_ns"] + collectives["dur_ns"]).sort()
    n_begun = starts.search_sorted(work["ts_ns"] + work["dur_ns"], side="left")
    n_over = ends.search_sorted(work["ts_ns"], side="right")
    return work.with_columns(((n_begun == n_over) | (work["cat"] != KERNEL)).alias("is_alone"))


def cost_beside(ranks: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """What calls beside a collective cost with nothing beside them: rank, key, share and others.

    `share` of what they lasted, at most 1; keys whose calls all ran alone are left out. One call
    costs `call_ns`: the mean of the rank's calls that ran alone, where half of them did (few are a
    biased sample), else of all ranks' that did. Of a kernel that never runs alone, and of one whose
    calls alone differ so much that they are not of one size, it is the mean of the rank where it is
    shortest: such a kernel is not `is_compared`. `is_ever_alone`: a call of any rank ran alone.

    Args:
        ranks: of `kernel_times`; `rank` is the position in it.
    """
    each = pl.concat([_of_rank(times, rank) for rank, times in enumerate(ranks)])
    of_key = each.group_by("key").agg(
        (pl.col("alone_ns").sum() / pl.col("n_alone").sum()).alias("all_ns"),
        (pl.col("dur_ns") / pl.col("n")).min().alias("least_ns"),
        (pl.col("n_alone").sum() > 0).alias("is_ever_alone"),
        (pl.col("most_alone_ns").max() <= _ONE_SIZE * pl.col("least_alone_ns").min())
        .fill_null(False)
        .alias("is_compared"),
    )
    own_ns = pl.when(2 * pl.col("n_alone") >= pl.col("n")).then(
        pl.col("alone_ns") / pl.col("n_alone")
    )
    alone_ns = pl.when("is_compared").then(pl.coalesce(own_ns, "all_ns")).otherwise("least_ns")
    beside_ns = pl.col("dur_ns") - pl.col("alone_ns")
    n_beside = pl.col("n") - pl.col("n_alone")
    return (
        each.join(of_key, on="key")
        .filter(beside_ns > 0)
        .select(
            "rank", "key", alone_ns.alias("call_ns"), "is_compared", "is_ever_alone",
            (n_beside * alone_ns / beside_ns).clip(0, 1).alias("share"),
        )
    )  # fmt: skip


def _of_rank(times: pl.DataFrame, rank: int) -> pl.DataFrame:
    sums = times.group_by("key").agg(
        pl.col("n", "dur_ns", "n_alone", "alone_ns").sum(),
        pl.col("least_alone_ns").min(),
        pl.col("most_alone_ns").max(),
    )
    return sums.with_columns(rank=pl.lit(rank))


def key_of(*kind: str | None) -> int:
    """The key of a kind of kernel, by the values of KIND."""
    text = "\0".join(part or "" for part in kind)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
