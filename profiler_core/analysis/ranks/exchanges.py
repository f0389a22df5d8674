"""The collectives of a step on the critical rank: where each stands in the step, what it exposes.

A transfer is exposed where no kernel runs beside it. Under the profiler that has two causes: the
kernel that follows waits for the transfer, or the host had not launched it yet. Only the first is
time that hiding the transfer could save; where the host is late the device would stand still
anyhow. The launch of the following kernel tells the two apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.ranks.collective_kinds import LABELS


@dataclass(frozen=True)
class Exchange:
    """One collective of a step, means over the steps that have it, ns."""

    kind: str
    label: str
    group: str  # the ranks that take part, or the process group's name
    group_size: int | None
    number: int  # of this kind and group in a step, from 0
    bytes: int | None
    n: float  # calls per step: below 1 where not every step has it
    transfer_ns: float
    exposed_ns: float  # of the transfer, no kernel beside it; an instant is of one collective
    holding_up_ns: float  # of `exposed_ns`: while the kernel that follows it was queued already
    compute_before: float | None  # share of the step's compute that is over when it starts
    # Are all ranks of its group here? Else what it waits for the others is in its transfer.
    is_complete: bool = True


def exchanges(calls: pl.DataFrame, n_steps: int) -> tuple[Exchange, ...]:
    """The collectives of one rank in the order in which they start.

    Args:
        calls: of `matched`, of one rank.
        n_steps: over which times are means per step.
    """
    if not calls.height or not n_steps:
        return ()
    start = pl.col("ts_ns") + pl.when("is_shared").then("wait_ns").otherwise(0)
    end = pl.col("ts_ns") + pl.col("dur_ns")
    timed = calls.with_row_index("call").with_columns(start=start, end=end)
    segments = (
        timed.select("call", "ts_ns", "start", "end", "next_queued_ns", "exposed_from_ns",
                     "exposed_for_ns")
        .explode("exposed_from_ns", "exposed_for_ns")
        .drop_nulls("exposed_from_ns")
        .with_columns(since=pl.col("ts_ns") + pl.col("exposed_from_ns"))
        .with_columns(until=pl.col("since") + pl.col("exposed_for_ns"))
        .with_columns(since=pl.max_horizontal("since", "start"))
    )  # fmt: skip
    queued = pl.max_horizontal("since", pl.col("ts_ns") + pl.col("next_queued_ns"))
    holding = segments.filter(
        pl.col("until") == pl.col("end"), pl.col("next_queued_ns").is_not_null()
    ).with_columns(since=queued)
    per_call = (
        timed.join(_lengths(segments, "exposed_ns"), on="call", how="left")
        .join(_lengths(holding, "holding_up_ns"), on="call", how="left")
        .with_columns(pl.col("exposed_ns", "holding_up_ns").fill_null(0))
    )
    rows = (
        per_call.group_by("kind", "group", "number")
        .agg(
            pl.col("group_size", "bytes").first(),
            (pl.len() / n_steps).alias("n"),
            ((pl.col("end") - pl.col("start")).sum() / n_steps).alias("transfer_ns"),
            (pl.col("exposed_ns", "holding_up_ns").sum() / n_steps),
            pl.col("compute_before").mean(),
            pl.col("is_complete").all(),
        )
        .sort("compute_before", "kind", "group", "number", nulls_last=True)
    )
    return tuple(Exchange(label=LABELS[row["kind"]], **row) for row in rows.iter_rows(named=True))


def _lengths(segments: pl.DataFrame, name: str) -> pl.DataFrame:
    """Instants of each call, those of several counted for the one that was there first."""
    ordered = segments.filter(pl.col("until") > pl.col("since")).sort("since", "until")
    taken = pl.col("until").cum_max().shift(1)
    free = pl.col("until") - pl.max_horizontal("since", taken)
    own = ordered.with_columns(free.clip(lower_bound=0).alias(name))
    return own.group_by("call").agg(pl.col(name).sum())


@dataclass(frozen=True)
class ExchangeKind:
    """All collectives of one kind and process group, ns per step."""

    kind: str
    label: str
    group: str
    group_size: int | None
    n: float
    bytes: int | None
    transfer_ns: float
    exposed_ns: float
    holding_up_ns: float
    is_complete: bool = True  # each of them


def by_kind(rows: Sequence[Exchange]) -> tuple[ExchangeKind, ...]:
    """Sums over the collectives of a step, most exposed first."""
    kinds: dict[tuple[str, str], list[Exchange]] = {}
    for row in rows:
        kinds.setdefault((row.kind, row.group), []).append(row)
    sums = [
        ExchangeKind(
            kind=kind,
            label=own[0].label,
            group=group,
            group_size=own[0].group_size,
            n=sum(row.n for row in own),
            bytes=round(sum((row.bytes or 0) * row.n for row in own))
            if any(row.bytes is not None for row in own)
            else None,
            transfer_ns=sum(row.transfer_ns for row in own),
            exposed_ns=sum(row.exposed_ns for row in own),
            holding_up_ns=sum(row.holding_up_ns for row in own),
            is_complete=all(row.is_complete for row in own),
        )
        for (kind, group), own in kinds.items()
    ]
    return tuple(sorted(sums, key=lambda row: (-row.exposed_ns, row.kind, row.group)))
