"""What the kernels of each rank cost alone, and what one rank works more than others do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.ranks.kernel_times import cost_beside
from profiler_core.analysis.ranks.rank_summary import RankSummary


@dataclass(frozen=True)
class RankWork:
    """What one rank's events cost alone, ns per step by category, and what they took longer."""

    by_category: Mapping[str, float]
    slowed_ns: float
    by_kind: pl.DataFrame  # key of `kernel_times`, n and ns of all steps, as they cost alone
    n_steps: int

    @property
    def total_ns(self) -> float:
        """Of all categories."""
        return sum(self.by_category.values())


def work_of_ranks(ranks: Sequence[RankSummary], names: Sequence[str]) -> dict[int, RankWork]:
    """By rank; collectives are left out.

    Args:
        ranks: of one job.
        names: of the steps that all of them have.
    """
    n = len(names)
    kernels = [summary.kernels.filter(pl.col("step").is_in(list(names))) for summary in ranks]
    shares = cost_beside(kernels)
    beside_ns = pl.col("dur_ns") - pl.col("alone_ns")
    work = {}
    for position, (summary, times) in enumerate(zip(ranks, kernels, strict=True)):
        own = times.join(shares.filter(pl.col("rank") == position), on="key", how="left")
        lost_ns = beside_ns * (1 - pl.col("share").fill_null(1.0))
        cost_ns = pl.col("dur_ns") - lost_ns
        costs = _sums(own, cost_ns)
        work[summary.rank] = RankWork(
            {category: ns / n for category, ns in costs.items()},
            float(own.select(lost_ns.sum()).item()) / n,
            own.group_by("key").agg(pl.col("n").sum(), cost_ns.sum().cast(pl.Float64).alias("ns")),
            n,
        )
    return work


def longer_kernels(own: RankWork, other: RankWork) -> tuple[float, float]:
    """Of kernels that both ranks run as often: the first one's time, and what it takes longer.

    Both ns per step. Kernels that one of them runs more often, or with other grids, are other work.
    """
    both = own.by_kind.join(other.by_kind, on=["key", "n"], suffix="_other")
    shared_ns, other_ns = (float(both[column].sum()) for column in ("ns", "ns_other"))
    return shared_ns / own.n_steps, (shared_ns - other_ns) / own.n_steps


def more_work(
    work: Mapping[int, RankWork], rank: int, others: Sequence[int]
) -> tuple[int, dict[str, float]]:
    """The other rank of median work (the lower one of two), and what a rank works more than that.

    Args:
        work: of all ranks.
        rank: that is held against the others.
        others: at least one.

    Returns:
        That rank, and ns per step by category; below 0 where the rank works less.
    """
    ordered = sorted((work[other].total_ns, other) for other in others)
    typical = ordered[(len(ordered) - 1) // 2][1]
    own, other = work[rank].by_category, work[typical].by_category
    each = {category: own.get(category, 0.0) - other.get(category, 0.0) for category in CATEGORIES}
    return typical, {category: ns for category, ns in each.items() if ns}


def _sums(times: pl.DataFrame, ns: pl.Expr) -> dict[str, float]:
    by_category = times.group_by("category").agg(ns.sum().cast(pl.Float64).alias("ns"))
    return dict(by_category.with_columns(pl.col("category").cast(pl.String)).iter_rows())
