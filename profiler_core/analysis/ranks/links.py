"""Which group of ranks talks slower than the others that do the same: the slowest link.

Only equal collectives are held against each other: same kind, number of ranks, bytes, step and
place in it. The time of each is that of the rank that waited for nobody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from profiler_core.analysis.ranks.collective_kinds import LABELS, bus_factor

SLOW_SHARE = 1.2  # times as long as the median of the others is slow
MOST_LINKS = 8
_EQUAL = ("step", "kind", "group_size", "bytes", "number")


@dataclass(frozen=True)
class Link:
    """All collectives of one kind in one group of ranks. Bandwidths in bytes a second."""

    kind: str
    label: str
    group: str  # its ranks, or its name
    group_size: int
    n: int  # collectives that other groups have too, over all steps
    bus_bandwidth: float
    others_bandwidth: float  # at the median time of the groups that do the same
    slower: float  # its time over that median, of all these collectives together

    @property
    def is_slow(self) -> bool:
        """Whether it stands out."""
        return self.slower >= SLOW_SHARE


def links(calls: pl.DataFrame) -> tuple[Link, ...]:
    """The groups of ranks by how much slower they talk than others, the slowest first.

    At most MOST_LINKS; none where no two groups of a size do the same.

    Args:
        calls: of `matched`.
    """
    collectives = (
        calls.filter(pl.col("is_complete"), pl.col("bytes") > 0, pl.col("group_size") > 1)
        .group_by(*_EQUAL, "group")
        .agg(pl.col("fastest_ns").first())
        .with_columns(
            pl.col("fastest_ns").median().over(_EQUAL).alias("median_ns"),
            pl.len().over(_EQUAL).alias("n_groups"),
        )
        .filter(pl.col("n_groups") > 1, pl.col("fastest_ns") > 0)
    )
    sums = (
        collectives.group_by("kind", "group_size", "group")
        .agg(
            pl.len().alias("n"),
            pl.col("bytes").sum(),
            pl.col("fastest_ns").sum(),
            pl.col("median_ns").sum(),
        )
        .with_columns((pl.col("fastest_ns") / pl.col("median_ns")).alias("slower"))
        .sort("slower", "kind", "group", descending=[True, False, False])
        .head(MOST_LINKS)
    )
    made = (_link(row) for row in sums.iter_rows(named=True))
    return tuple(link for link in made if link is not None)


def _link(row: Mapping[str, Any]) -> Link | None:
    kind, size = row["kind"], row["group_size"]
    factor = bus_factor(kind, size)
    if factor is None:
        return None
    moved = row["bytes"] * factor * 1e9
    return Link(
        kind=kind,
        label=LABELS[kind],
        group=row["group"],
        group_size=size,
        n=row["n"],
        bus_bandwidth=moved / row["fastest_ns"],
        others_bandwidth=moved / row["median_ns"],
        slower=row["slower"],
    )


def slowest(every: Sequence[Link]) -> Link | None:
    """The link that stands out most; None: none does."""
    return every[0] if every and every[0].is_slow else None
