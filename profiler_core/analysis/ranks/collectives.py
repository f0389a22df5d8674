"""The collectives of one rank: each communication kernel with what it moves and whom it joins."""

import json

import numpy as np
import polars as pl

from profiler_core.analysis.intervals import merged_of
from profiler_core.analysis.ranks.collective_kinds import DTYPE_BYTES, POINT_TO_POINT, kind_of
from profiler_core.analysis.ranks.process_groups import group_text, process_groups
from profiler_core.model.trace import KERNEL, Trace

_PAIR = "send_recv"  # the kind of a send and of its receive

CALL_SCHEMA: dict[str, pl.DataType] = {
    "step": pl.String(),  # name of the step
    "kind": pl.String(),  # of collective_kinds
    "group": pl.String(),  # the ranks that take part, or the process group's name
    "group_size": pl.Int64(),  # null: not said
    "number": pl.Int64(),  # of this kind in this group and step, from 0: what ranks are joined on
    "ts_ns": pl.Int64(),  # on the trace's axis
    "dur_ns": pl.Int64(),
    "bytes": pl.Int64(),  # the larger of in and out; null: not said
    # Its parts beside which nothing is computed, from its start on.
    "exposed_from_ns": pl.List(pl.Int64()),
    "exposed_for_ns": pl.List(pl.Int64()),
    # When the first kernel that starts after its end was launched, from its start on; null: none is
    "next_queued_ns": pl.Int64(),
    "compute_before": pl.Float64(),  # share of the step's compute that is over when it starts
}


def collective_calls(
    trace: Trace, work: pl.DataFrame, step_names: list[str], rank: int
) -> pl.DataFrame:
    """Every communication kernel that belongs to a step, in launch order, as CALL_SCHEMA.

    A send and its receive are of one kind and one group, that of the two ranks, where torch says
    which they are.

    Args:
        trace: for what torch says of each call.
        work: of `categorise`: its category and step columns are used.
        step_names: by number of the step; a trace without steps has one name.
        rank: whose trace it is.
    """
    kernels = work.filter(pl.col("category") == "communication", pl.col("step").is_not_null())
    if kernels.height == 0:
        return pl.DataFrame(schema=CALL_SCHEMA)
    order = pl.coalesce("launch_ts_ns", "ts_ns")
    kernels = kernels.with_columns(order.alias("at")).sort("at", "ts_ns")
    names = kernels["name"].unique().cast(pl.String).to_list()
    by_name = {name: kind_of(name) for name in names}
    calls = (
        _with_records(trace, kernels, rank)
        .with_columns(
            pl.col("step").replace_strict(dict(enumerate(step_names)), return_dtype=pl.String),
            pl.coalesce(
                "record_kind",
                pl.col("name").cast(pl.String).replace_strict(by_name, return_dtype=pl.String),
            ).alias("kind"),
            pl.col("group").fill_null(""),
            pl.col("record_bytes").alias("bytes"),  # the kernels' own is about copies
        )
        .sort("at", "ts_ns")
    )
    compute = work.filter(pl.col("cat") == KERNEL, pl.col("category") != "communication")
    return calls.with_columns(
        pl.int_range(pl.len()).over("step", "kind", "group").alias("number"),
        *_exposed(calls, compute),
        _next_queued(calls, compute),
        _compute_before(calls, compute, step_names),
    ).select(pl.col(column).cast(dtype) for column, dtype in CALL_SCHEMA.items())


def _exposed(calls: pl.DataFrame, compute: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Where each call has no kernel of `compute` beside it: offsets from its start, and lengths."""
    starts = compute["ts_ns"].to_numpy()
    begins, ends = merged_of(starts, starts + compute["dur_ns"].to_numpy())
    offsets, lengths = [], []
    for start, duration in calls.select("ts_ns", "dur_ns").iter_rows():
        stop = start + duration
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(begins, stop, side="left"))
        free_from = np.concatenate(([start], ends[first:last]))
        free_until = np.concatenate((begins[first:last], [stop]))
        is_free = free_until > free_from
        offsets.append((free_from - start)[is_free].tolist())
        lengths.append((free_until - free_from)[is_free].tolist())
    whole_numbers = pl.List(pl.Int64)
    return (
        pl.Series("exposed_from_ns", offsets, whole_numbers),
        pl.Series("exposed_for_ns", lengths, whole_numbers),
    )


def _next_queued(calls: pl.DataFrame, compute: pl.DataFrame) -> pl.Series:
    """When the host launched the kernel that follows each call: as soon as that could run."""
    ordered = compute.sort("ts_ns")
    following = ordered["ts_ns"].search_sorted(calls["ts_ns"] + calls["dur_ns"], side="left")
    # Where its launch is not in the trace, it is taken to have waited in its queue.
    launched = ordered["launch_ts_ns"].fill_null(0).extend(pl.Series([None], dtype=pl.Int64))
    offset = launched.gather(following) - calls["ts_ns"]
    return offset.clip(lower_bound=0).alias("next_queued_ns")


def _compute_before(calls: pl.DataFrame, compute: pl.DataFrame, step_names: list[str]) -> pl.Series:
    shares = np.full(calls.height, np.nan)
    begins = compute["ts_ns"].to_numpy()
    overs = begins + compute["dur_ns"].to_numpy()
    steps = compute["step"].fill_null(-1).to_numpy()
    for number, name in enumerate(step_names):
        own = steps == number
        starts, ends = merged_of(begins[own], overs[own])
        in_step = (calls["step"] == name).to_numpy()
        if not starts.size or not in_step.any():
            continue
        at = calls["ts_ns"].to_numpy()[in_step]
        before = np.concatenate(([0], np.cumsum(ends - starts)))
        begun = np.searchsorted(starts, at, side="right")
        # The interval that is under way counts up to that instant.
        over = np.where(begun > 0, np.maximum(0, ends[begun - 1] - at), 0)
        shares[in_step] = (before[begun] - over) / before[-1]
    return pl.Series("compute_before", shares).fill_nan(None)


_OF_A_RECORD = ("record_kind", "group", "group_size", "record_bytes")


def _with_records(trace: Trace, kernels: pl.DataFrame, rank: int) -> pl.DataFrame:
    """The kernels with the call of torch.distributed inside which each was launched.

    Sends and receives of a batch are launched together behind the last of their calls.
    """
    records = _records(trace, rank)
    between_two = pl.col("record_kind") == _PAIR
    names = kernels["name"].unique().cast(pl.String).to_list()
    pairs = [name for name in names if kind_of(name) in POINT_TO_POINT]
    is_pair = pl.col("name").cast(pl.String).is_in(pairs)
    inside = pl.col("at") <= pl.col("record_end_ns")
    collectives = _latest(kernels.filter(~is_pair), records).with_columns(
        pl.when(inside).then(pl.col(column)).alias(column) for column in _OF_A_RECORD
    )
    return pl.concat(
        [collectives, _latest(kernels.filter(is_pair), records.filter(between_two))]
    ).sort("at", "ts_ns")


def _latest(kernels: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """The kernels with the last record that began before their launch, on the same thread."""
    return kernels.join_asof(
        records,
        left_on="at",
        right_on="record_ts_ns",
        by_left="launch_tid",
        by_right="record_tid",
        strategy="backward",
        check_sortedness=False,
    )


def _records(trace: Trace, rank: int) -> pl.DataFrame:
    calls = trace.collectives
    kinds = {name: kind_of(name) for name in calls["collective"].unique().drop_nulls()}
    kinds = {name: _PAIR if kind in POINT_TO_POINT else kind for name, kind in kinds.items()}
    pairs = pl.Series(
        "pair",
        [
            _pair(rank, *row)
            for row in calls.select("to_rank", "from_rank", "group_ranks").iter_rows()
        ],
        pl.String,
    )
    groups = {text: _group(text) for text in calls["group_ranks"].unique().drop_nulls()}
    by_name = {group.name: group_text(group.ranks) for group in process_groups(trace)}
    size = pl.col("dtype").replace_strict(DTYPE_BYTES, default=None, return_dtype=pl.Int64)
    return calls.select(
        pl.col("ts_ns").alias("record_ts_ns"),
        (pl.col("ts_ns") + pl.col("dur_ns")).alias("record_end_ns"),
        pl.col("tid").alias("record_tid"),
        pl.col("collective")
        .replace_strict(kinds, default=None, return_dtype=pl.String)
        .alias("record_kind"),
        pl.coalesce(
            pairs,
            pl.col("group_ranks").replace_strict(groups, default=None, return_dtype=pl.String),
            pl.col("group_name").replace_strict(by_name, default=None, return_dtype=pl.String),
            "group_name",
        ).alias("group"),
        pl.when(pairs.is_not_null()).then(2).otherwise("group_size").alias("group_size"),
        (pl.max_horizontal("in_elements", "out_elements") * size).alias("record_bytes"),
    ).sort("record_ts_ns")


def _pair(rank: int, to_rank: int | None, from_rank: int | None, listed: str | None) -> str | None:
    """This rank and the one that it sends to or receives from; None: torch does not say which.

    torch numbers the other one by its place in the group.
    """
    position = from_rank if to_rank is None else to_rank
    if position is None:
        return None
    try:
        ranks = json.loads(listed or "")
        other = int(ranks[position])
    except (ValueError, TypeError, IndexError):
        return None  # the list is cut short, and what its numbers count is not sure
    return group_text(sorted((rank, other)))


def _group(text: str) -> str | None:
    """Ranks in short; None where torch cut the list (it prints 30 at most)."""
    try:
        ranks = json.loads(text)
    except ValueError:
        return None
    return group_text(ranks) if isinstance(ranks, list) and ranks else None
