"""How much a step allocates anew: allocations and bytes, by what they are for."""

from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.memory.live import origin


@dataclass(frozen=True)
class ChurnRow:
    """Allocations of one origin, per step."""

    operator: str
    n: float
    bytes: float


@dataclass(frozen=True)
class Churn:
    """A step on average; n and bytes are the sums over the rows."""

    n_steps: int
    n: float
    bytes: float
    rows: tuple[ChurnRow, ...]  # most bytes first


def churn(made: pl.DataFrame, n_steps: int) -> Churn:
    """Add up the allocations of whole steps.

    Args:
        made: `allocations` of one device.
        n_steps: what "per step" divides by; 1 for a trace without steps.
    """
    inside = made.filter(pl.col("step").is_not_null())
    rows = (
        inside.group_by(operator=origin())
        .agg(n=pl.len() / n_steps, bytes=pl.col("bytes").sum() / n_steps)
        .sort("bytes", "operator", descending=[True, False])
    )
    return Churn(
        n_steps,
        inside.height / n_steps,
        int(inside["bytes"].sum()) / n_steps,
        tuple(ChurnRow(**row) for row in rows.iter_rows(named=True)),
    )
