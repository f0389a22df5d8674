"""Whether events of a rank are of kernels of which no call runs without a collective beside it."""

from collections.abc import Sequence

import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.ranks.kernel_times import KIND, key_of, with_shapes
from profiler_core.analysis.ranks.waiting import RankCost
from profiler_core.model.trace import Trace

_MOST_OF_IT = 0.5  # of the time


def are_never_alone(trace: Trace, events: Sequence[int], cost: RankCost) -> bool:
    """Is most of the time of these of kernels that a collective runs beside in every call?

    What these cost alone is not known: their times are as recorded, and depend on how much of each
    call lies beside a collective.

    Args:
        trace: of the rank, as it was recorded.
        events: rows of its device events.
        cost: of the rank.
    """
    rows = trace.derived("kinds", _kinds)[list(events)]
    of_kind = rows.group_by(KIND).agg(pl.col("dur_ns").sum())
    slowed_ns: int = sum(
        dur_ns for *kind, dur_ns in of_kind.iter_rows() if key_of(*kind) in cost.never_alone
    )
    return slowed_ns > _MOST_OF_IT * int(rows["dur_ns"].sum())


def _kinds(trace: Trace) -> pl.DataFrame:
    """dur_ns and kind of each device event, in the order of `categorise`."""
    work = with_shapes(trace, categorise(trace))
    return work.select(pl.col("name").cast(pl.String), *KIND[1:], "dur_ns")
