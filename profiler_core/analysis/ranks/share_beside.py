"""How much of the time of a job's kernels lies beside collectives, so that its cost is not known.

Only kernels of which no rank runs a call alone count: what others cost alone is known, and their
times are that (`waiting.as_it_costs`).
"""

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.intervals import covered_ns, merge
from profiler_core.analysis.ranks.kernel_times import COMMUNICATION, KIND, key_of, with_shapes
from profiler_core.analysis.ranks.waiting import RankCost
from profiler_core.model.trace import Trace

_LEAST = 0.1  # of a time


def is_cost_unknown(share: float) -> bool:
    """Does so much of a time lie beside collectives that what it costs alone is not known?

    Nothing gets faster beside a collective, so the cost lies between the part of the time that has
    none beside it and all of it. Where a tenth has one, the middle of these is right to 5 %, by
    which two runs of the same code differ too (`ledger.result.changed`).

    Args:
        share: of the time, as `shares_beside` gives it of each event.
    """
    return share > _LEAST


def share_of(rows: npt.NDArray[np.integer], shares: npt.NDArray[np.float64], trace: Trace) -> float:
    """The share of the time of some device events in which collectives run beside them.

    Args:
        rows: of the events in the trace.
        shares: of each device event of it, as `shares_beside` gives them.
        trace: with the events as their work costs alone.
    """
    times_ns = trace.device["dur_ns"].to_numpy()[rows]
    return float((shares[rows] * times_ns).sum() / max(1, times_ns.sum()))


def shares_beside(trace: Trace, cost: RankCost) -> npt.NDArray[np.float64]:
    """Of each device event the share of its time in which a collective of the steps runs beside it.

    0 for kernels that some rank runs alone, and for collectives.

    Args:
        trace: of the rank, as it was recorded.
        cost: of the rank.
    """
    work = with_shapes(trace, categorise(trace)).with_columns(
        pl.col("name").cast(pl.String), end=pl.col("ts_ns") + pl.col("dur_ns")
    )
    collectives = work.filter(pl.col("step").is_not_null(), pl.col("category") == COMMUNICATION)
    merged = merge(collectives.select(start="ts_ns", end="end"))
    beside_ns = _covered(merged, work["end"]) - _covered(merged, work["ts_ns"])
    shares = beside_ns / np.maximum(1, work["dur_ns"].to_numpy())
    kinds = work.select(KIND).unique()
    is_unknown = [key_of(*kind) in cost.never_alone for kind in kinds.iter_rows()]
    unknown = work.select(KIND).join(
        kinds.with_columns(is_unknown=pl.Series(is_unknown, dtype=pl.Boolean)),
        on=list(KIND), how="left", maintain_order="left", nulls_equal=True,
    )["is_unknown"]  # fmt: skip
    return np.where(unknown.to_numpy(), shares, 0.0)


def _covered(merged: pl.DataFrame, points: pl.Series) -> npt.NDArray[np.int64]:
    """`covered_ns` of points in any order."""
    order = points.arg_sort().to_numpy()
    covered = np.empty(len(points), np.int64)
    covered[order] = covered_ns(merged, points.sort()).to_numpy()
    return covered
