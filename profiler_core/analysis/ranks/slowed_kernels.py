"""Kernels that take longer because a collective beside them holds multiprocessors."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.item import Item, kernel_item
from profiler_core.analysis.ranks.kernel_times import cost_beside
from profiler_core.analysis.ranks.rank_summary import RankSummary

_MOST = 20  # that are kept; the rest is small


@dataclass(frozen=True)
class SlowedKernel:
    """One kernel of one grid and, where they were recorded, shapes."""

    label: str  # its name and grid
    category: str
    n_beside: float  # calls per step with a collective beside them
    n_alone: float  # … with none
    beside_ns: float  # a call of this rank, mean
    alone_ns: float  # a call with none beside it, mean: see `kernel_times.cost_beside`
    slowed_ns: float  # per step


def slowed_kernels(
    ranks: Sequence[RankSummary], rank: int, names: Sequence[str]
) -> tuple[SlowedKernel, ...]:
    """The kernels of one rank that collectives slow most, the most slowed first.

    Args:
        ranks: of the job, all of which tell what a call costs alone.
        rank: whose kernels.
        names: of the steps.
    """
    kernels = [summary.kernels.filter(pl.col("step").is_in(list(names))) for summary in ranks]
    position = next(number for number, summary in enumerate(ranks) if summary.rank == rank)
    costs = cost_beside(kernels).filter(pl.col("rank") == position, "is_compared")
    n = len(names)
    sums = (
        kernels[position]
        .group_by("key")
        .agg(
            pl.col("label").drop_nulls().first(),
            pl.col("category").cast(pl.String).first(),
            pl.col("n", "dur_ns", "n_alone", "alone_ns").sum(),
        )
        .drop_nulls("label")
        .join(costs, on="key")
        .with_columns(n_beside=pl.col("n") - pl.col("n_alone"))
        .with_columns(beside=(pl.col("dur_ns") - pl.col("alone_ns")) / pl.col("n_beside"))
        .with_columns(slowed=pl.col("n_beside") * (pl.col("beside") - pl.col("call_ns")) / n)
        .filter(pl.col("slowed") > 0)
        .sort("slowed", "label", descending=[True, False])
    )
    return tuple(
        SlowedKernel(
            label=row["label"],
            category=row["category"],
            n_beside=row["n_beside"] / n,
            n_alone=row["n_alone"] / n,
            beside_ns=row["beside"],
            alone_ns=row["call_ns"],
            slowed_ns=row["slowed"],
        )
        for row in sums.head(_MOST).iter_rows(named=True)
    )


def kernel_of_label(label: str, names: Sequence[str]) -> Item | None:
    """The kernel that a label of name and grid is of; None: none of these names.

    Args:
        label: as `SlowedKernel` has it.
        names: of kernels.
    """
    name = max((name for name in names if label.startswith(name)), key=len, default="")
    return kernel_item(name) if name else None
