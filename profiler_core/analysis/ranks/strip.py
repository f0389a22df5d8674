"""Ranks of a job merged into a few columns and quantiles; the slowest rank keeps its column."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.ranks.rank_row import RankRow

# (field of RankRow, label), in the order of the stack.
PARTS: tuple[tuple[str, str], ...] = (
    ("compute_ns", "compute"),
    ("exposed_communication_ns", "exposed communication"),
    ("exposed_copy_ns", "exposed copies"),
    ("idle_ns", "idle"),
)
QUANTITIES: tuple[tuple[str, str], ...] = (
    ("step_ns", "step"),
    *PARTS,
    ("waited_ns", "waited"),
    ("made_wait_ns", "made others wait"),
)


@dataclass(frozen=True)
class Quantiles:
    """One quantity over all ranks, ns per step."""

    key: str
    label: str
    least: float
    p5: float
    median: float
    p95: float
    most: float
    least_rank: int
    most_rank: int


@dataclass(frozen=True)
class Column:
    """Neighbouring ranks, and of each quantity the value of the rank furthest from the median."""

    first_rank: int
    last_rank: int
    values: tuple[float, ...]  # as QUANTITIES
    ranks: tuple[int, ...]  # whose value each is


def quantiles_of(job: Job) -> tuple[Quantiles, ...]:
    """Each quantity over the ranks; empty for less than two ranks."""
    if len(job.ranks) < 2:
        return ()
    rows_of_quantities = []
    for key, label in QUANTITIES:
        rows = sorted(job.ranks, key=lambda row: (_value(row, key), row.rank))
        values = [_value(row, key) for row in rows]
        cuts = quantiles(values, n=20, method="inclusive")
        rows_of_quantities.append(
            Quantiles(
                key=key,
                label=label,
                least=values[0],
                p5=cuts[0],
                median=median(values),
                p95=cuts[-1],
                most=values[-1],
                least_rank=rows[0].rank,
                most_rank=rows[-1].rank,
            )
        )
    return tuple(rows_of_quantities)


def columns_of(rows: Sequence[RankRow], most: int) -> tuple[Column, ...]:
    """The ranks in their order, in at most `most` columns; none for none."""
    if not rows:
        return ()
    middles = [median(_value(row, key) for row in rows) for key, _ in QUANTITIES]
    wide = -(-len(rows) // most)
    return tuple(_column(rows[at : at + wide], middles) for at in range(0, len(rows), wide))


def _column(rows: Sequence[RankRow], middles: Sequence[float]) -> Column:
    furthest = [
        max(rows, key=lambda row: abs(_value(row, key) - middle))
        for (key, _), middle in zip(QUANTITIES, middles, strict=True)
    ]
    return Column(
        first_rank=rows[0].rank,
        last_rank=rows[-1].rank,
        values=tuple(_value(row, key) for row, (key, _) in zip(furthest, QUANTITIES, strict=True)),
        ranks=tuple(row.rank for row in furthest),
    )


def _value(row: RankRow, key: str) -> float:
    return float(getattr(row, key))
