"""Which kernels ran, how often and how long, by name and by category."""

from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.tensor_cores import uses_tensor_cores
from profiler_core.model.trace import KERNEL, Trace


@dataclass(frozen=True)
class KernelTotal:
    """All calls of one kernel name in one category over the window, ns.

    A name launched by operators of different categories has one row for each.
    """

    name: str
    category: str
    n: int
    time_ns: int
    mean_ns: float
    min_ns: int
    max_ns: int
    tensor_cores: bool | None  # None: the name does not say


@dataclass(frozen=True)
class CategoryTotal:
    """All device events of one category over the window; streams may overlap."""

    n: int
    time_ns: int


def kernels(trace: Trace) -> pl.DataFrame:
    """Add up the kernels of the window by name and category, longest first.

    Returns:
        (n, 8): name, category (both String), n, time_ns, mean_ns, min_ns, max_ns,
        tensor_cores (Boolean; null: the name does not say), longest first. Copies and
        memsets are not kernels. Streams may overlap, so time_ns may exceed the wall time.
    """
    return kernels_of(categorise(trace))


def kernels_of(work: pl.DataFrame) -> pl.DataFrame:
    """As `kernels`, from categorised work."""
    return _totals(work.filter(pl.col("cat") == KERNEL))


def copies_of(work: pl.DataFrame) -> pl.DataFrame:
    """The same of the copies and memsets, which are no kernels."""
    return _totals(work.filter(pl.col("cat") != KERNEL))


def _totals(work: pl.DataFrame) -> pl.DataFrame:
    totals = (
        work.filter(pl.col("step").is_not_null())
        .group_by("name", "category")
        .agg(
            n=pl.len().cast(pl.Int64),
            time_ns=pl.col("dur_ns").sum(),
            mean_ns=pl.col("dur_ns").mean(),
            min_ns=pl.col("dur_ns").min(),
            max_ns=pl.col("dur_ns").max(),
        )
        .with_columns(pl.col("name", "category").cast(pl.String))
        .sort("time_ns", "name", "category", descending=[True, False, False])
    )
    answers = [uses_tensor_cores(*row) for row in totals.select("name", "category").iter_rows()]
    return totals.with_columns(pl.Series("tensor_cores", answers, dtype=pl.Boolean))


def by_category(work: pl.DataFrame) -> dict[str, CategoryTotal]:
    """Totals of the counted events of each category that occurs, in the order of CATEGORIES."""
    totals = (
        work.filter(pl.col("step").is_not_null())
        .group_by("category")
        .agg(pl.len().alias("n"), pl.col("dur_ns").sum())
        .sort("category")
    )
    return {name: CategoryTotal(n, time_ns) for name, n, time_ns in totals.iter_rows()}
