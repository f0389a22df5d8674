"""Kernels of a rank of which no call runs without a collective beside it."""

from collections.abc import Sequence

import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.ranks.kernel_times import COMMUNICATION, KIND, with_alone, with_shapes
from profiler_core.model.trace import Trace

_MOST_OF_IT = 0.5  # of a group's time


def are_never_alone(trace: Trace, events: Sequence[int]) -> bool:
    """Is most of the time of these of kernels that a collective runs beside in every call?

    What these cost alone is not known (`kernel_times.cost_beside`): their times are as recorded,
    and depend on how much of each call lies beside a collective.

    Args:
        trace: of the rank, as it was recorded.
        events: rows of its device events.
    """
    rows = trace.derived("never alone", _rows)[list(events)]
    slowed_ns = int(rows.filter("is_never_alone")["dur_ns"].sum())
    return slowed_ns > _MOST_OF_IT * int(rows["dur_ns"].sum())


def _rows(trace: Trace) -> pl.DataFrame:
    """dur_ns and is_never_alone of each device event, in the order of `categorise`."""
    work = with_alone(with_shapes(trace, categorise(trace)))
    ran_alone = pl.col("is_alone").any().over(*KIND)
    return work.select("dur_ns", is_never_alone=~ran_alone & (pl.col("category") != COMMUNICATION))
