"""The same collective on all its ranks, side by side: who came last, and how long others waited."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.intervals import union_ns_by
from profiler_core.analysis.ranks.collective_kinds import LABELS, POINT_TO_POINT
from profiler_core.analysis.ranks.rank_summary import RankSummary

KEY = ("step", "group", "kind", "number")  # one collective of a job

_SCHEMA: dict[str, pl.DataType] = {
    "step": pl.String(),
    "group": pl.String(),
    "kind": pl.String(),
    "number": pl.Int64(),
    "ts_ns": pl.Int64(),
    "rank": pl.Int64(),
    "group_size": pl.Int64(),
    "bytes": pl.Int64(),
    "dur_ns": pl.Int64(),
    "exposed_from_ns": pl.List(pl.Int64()),
    "exposed_for_ns": pl.List(pl.Int64()),
    "next_queued_ns": pl.Int64(),
    "compute_before": pl.Float64(),
    "fastest_ns": pl.Int64(),
    "wait_ns": pl.Int64(),
    "last_rank": pl.Int64(),
    "is_shared": pl.Boolean(),
    "is_complete": pl.Boolean(),
}


def matched(ranks: Sequence[RankSummary], steps: Sequence[str]) -> pl.DataFrame:
    """The calls of all ranks in these steps, each with what its collective tells.

    `is_shared`: more than one rank of its group is here, so that waiting can be told between them;
    `is_complete`: all are, so that nobody else can have come last.
    """
    frames = [s.calls.with_columns(pl.lit(s.rank).alias("rank")) for s in ranks]
    if not frames:
        return pl.DataFrame(schema=_SCHEMA)
    every = pl.concat(frames).filter(pl.col("step").is_in(list(steps)))
    per_collective = every.group_by(KEY).agg(
        pl.len().alias("n_ranks"),
        pl.col("dur_ns").min().alias("fastest_ns"),
        # A tie goes to the lowest rank, so that the answer does not depend on the order.
        pl.col("rank").sort_by("dur_ns", "rank").first().alias("last_rank"),
    )
    # A group's ranks are known where torch says them; else it is all that name it.
    complete = pl.col("n_ranks") == pl.col("group_size").fill_null(pl.col("n_ranks"))
    # A send and its receive are paired by their order, so each needs its counterpart.
    n_of_rank = pl.len().over("step", "group", "kind", "rank")
    is_paired = (pl.col("group_size") == 2) & (
        n_of_rank.min().over("step", "group", "kind")
        == n_of_rank.max().over("step", "group", "kind")
    )
    is_between_two = pl.col("kind").is_in(list(POINT_TO_POINT))
    is_shared = (pl.col("n_ranks") > 1) & (~is_between_two | is_paired.fill_null(False))
    return every.join(per_collective, on=KEY, how="left").with_columns(
        (pl.col("dur_ns") - pl.col("fastest_ns")).alias("wait_ns"),
        is_shared.alias("is_shared"),
        (is_shared & complete).alias("is_complete"),
    )


def waiting_by(calls: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """How long calls with equal keys wait for the ranks that come last: the keys, union_ns.

    A rank has several collectives under way at once where they are of several groups, or where
    threads of gloo run them: it waits once then.

    Args:
        calls: of `matched`, those that are shared.
        keys: columns, the rank among them.
    """
    return union_ns_by(calls.select(*keys, "ts_ns", dur_ns="wait_ns"), *keys)


@dataclass(frozen=True)
class Arrival:
    """One collective of a step, by its place in it; means over the steps."""

    place: int  # in launch order, from 1
    kind: str
    label: str
    group: str
    bytes: int | None  # of one rank
    n_steps: int
    skew_ns: float  # between the first and the last arrival
    wait_ns: float  # of all ranks together
    last_rank: int  # that came last in most steps
    last_share: float  # in how many of them


def arrivals(calls: pl.DataFrame) -> tuple[Arrival, ...]:
    """The collectives of a step in launch order, from what `matched` found."""
    shared = calls.filter(pl.col("is_shared"))
    collectives = shared.group_by(KEY).agg(
        pl.col("bytes").max(),
        pl.col("wait_ns").max().alias("skew_ns"),
        pl.col("wait_ns").sum(),
        pl.col("last_rank").first(),
        pl.col("ts_ns").filter(pl.col("rank") == pl.col("rank").min()).first(),
    )
    # Launch order as its lowest rank has it: other ranks' clocks are never compared with it.
    collectives = collectives.with_columns(
        (pl.col("ts_ns") - pl.col("ts_ns").min()).over("step").alias("at_ns"),
    )
    rows = (
        collectives.group_by("group", "kind", "number")
        .agg(
            pl.col("at_ns").median(),
            pl.col("bytes").max(),
            pl.len().alias("n_steps"),
            pl.col("skew_ns").mean(),
            pl.col("wait_ns").mean(),
            pl.col("last_rank").mode().min().alias("last"),
            (pl.col("last_rank") == pl.col("last_rank").mode().min()).mean().alias("last_share"),
        )
        .sort("at_ns", "group", "kind", "number")
    )
    return tuple(
        Arrival(
            place=position,
            kind=row["kind"],
            label=LABELS[row["kind"]],
            group=row["group"],
            bytes=row["bytes"],
            n_steps=row["n_steps"],
            skew_ns=row["skew_ns"],
            wait_ns=row["wait_ns"],
            last_rank=row["last"],
            last_share=row["last_share"],
        )
        for position, row in enumerate(rows.iter_rows(named=True), start=1)
    )
