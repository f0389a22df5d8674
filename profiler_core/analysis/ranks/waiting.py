"""A rank's trace as its work costs alone: no waiting in collectives, no slowing beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.ranks.kernel_times import (
    COMMUNICATION,
    KIND,
    key_of,
    with_alone,
    with_shapes,
)
from profiler_core.model.trace import DEVICE_SCHEMA, Trace

_EQUAL_NS = 1  # sums of whole ns that were multiplied by a share


@dataclass(frozen=True)
class Wait:
    """A collective's kernel that waited, as the trace has it."""

    ts_ns: int  # on the trace's axis
    dur_ns: int
    wait_ns: int  # of dur_ns, from its start on
    last_rank: int  # that it waited for


@dataclass(frozen=True)
class BesideCost:
    """What a rank's calls of one kind beside collectives cost with nothing beside them."""

    call_ns: float  # of one call, as `kernel_times.cost_beside` has it
    share: float  # of what all of them took in the job's steps, below 1


@dataclass(frozen=True)
class RankCost:
    """What a rank's trace says too much of its work, as all ranks together tell."""

    rank: int
    origin_ns: int  # epoch ns of the trace's axis
    waits: tuple[Wait, ...]
    beside: Mapping[int, BesideCost]  # by key of `kernel_times`; of other kinds nothing is slowed
    # Keys of kinds of which no call of any rank runs alone: what these cost is not known.
    never_alone: frozenset[int] = frozenset()


def waits_of(calls: pl.DataFrame, rank: int) -> tuple[Wait, ...]:
    """The calls of one rank that waited.

    Args:
        calls: of `matched`.
        rank: whose.
    """
    waited = calls.filter(pl.col("rank") == rank, pl.col("is_shared"), pl.col("wait_ns") > 0)
    columns = waited.select("ts_ns", "dur_ns", "wait_ns", "last_rank").sort("ts_ns")
    return tuple(Wait(*row) for row in columns.iter_rows())


def slowed_kinds(costs: pl.DataFrame, position: int) -> dict[int, BesideCost]:
    """The kinds of kernels that collectives slow on one rank, by key of `kernel_times`.

    Args:
        costs: of `cost_beside`.
        position: the rank in it.
    """
    slowed = costs.filter(pl.col("rank") == position, pl.col("share") < 1)
    rows = slowed.select("key", "call_ns", "share").iter_rows()
    return {key: BesideCost(call_ns, share) for key, call_ns, share in rows}


def never_alone(costs: pl.DataFrame, position: int) -> frozenset[int]:
    """The kinds of one rank's kernels of which no rank runs a call alone, by key of `kernel_times`.

    Args:
        costs: of `cost_beside`.
        position: the rank in it.
    """
    kinds = costs.filter(pl.col("rank") == position, ~pl.col("is_ever_alone"))
    return frozenset(kinds["key"].to_list())


def as_it_costs(trace: Trace, cost: RankCost) -> Trace:
    """The trace, each collective beginning when the last rank had come, each kernel at its cost.

    Args:
        trace: of the rank that the cost is of.
        cost: of that rank.
    """
    if not trace.has_device_events:
        return trace
    return _without_waiting(_without_slowing(trace, cost.beside), cost.waits)


def recorded_rows(trace: Trace, cost: RankCost) -> pl.Series:
    """Of each device event of `as_it_costs(trace, cost)` its row in the trace as it was recorded.

    Args:
        trace: as it was recorded.
        cost: of its rank.
    """
    waits = _with_waits(trace, cost.waits).with_row_index("row")
    starts = waits.with_columns(ts_ns=pl.col("ts_ns") + pl.col("wait_ns"))
    return starts.sort("ts_ns", maintain_order=True)["row"]


def _without_slowing(trace: Trace, beside: Mapping[int, BesideCost]) -> Trace:
    """Kernels beside a collective last what they cost with nothing beside them, to the ns.

    Calls that take longer than one alone lose equal parts of that excess, so that each kind and
    category keeps its `share` of the steps, and no call gets less than one alone, or than it took.
    Only where a category's calls have less excess than that each of its calls keeps the share.

    How long a call ran beside a collective, or beside its waiting, tells less: calls of the
    fixtures' jobs that run from beginning to end beside one take 1.2 to 2.04 times what they take
    alone, by the blocks that fit on the multiprocessors which the collective leaves.
    """
    if not beside:
        return trace
    shaped = with_shapes(trace, categorise(trace))
    work = with_alone(shaped).with_columns(pl.col("name").cast(pl.String))
    is_beside = ~pl.col("is_alone") & (pl.col("category") != COMMUNICATION)
    kinds = work.filter(is_beside).select(pl.struct(KIND).alias("kind").unique())["kind"]
    costs = [beside.get(key_of(*kind.values())) for kind in kinds]
    table = kinds.struct.unnest().with_columns(
        call_ns=pl.Series([cost and cost.call_ns for cost in costs], dtype=pl.Float64),
        share=pl.Series([cost and cost.share for cost in costs], dtype=pl.Float64),
    )
    in_steps, group = is_beside & pl.col("step").is_not_null(), (*KIND, "category")
    excess_ns = (pl.col("dur_ns") - pl.col("call_ns")).clip(lower_bound=0)
    all_excess_ns = excess_ns.filter(in_steps).sum().over(group)
    lost_share = 1 - pl.col("share")
    lost_ns = lost_share * pl.col("dur_ns").filter(in_steps).sum().over(group)
    slowed_ns = (
        pl.when(~is_beside | (excess_ns == 0) & (lost_ns <= all_excess_ns + _EQUAL_NS))
        .then(0)
        .when(lost_ns <= all_excess_ns + _EQUAL_NS)
        .then(excess_ns * (lost_ns / all_excess_ns).clip(upper_bound=1))
        .otherwise(pl.col("dur_ns") * lost_share)
        .fill_null(0)
    )
    durations = (
        work.join(table, on=list(KIND), how="left", maintain_order="left", nulls_equal=True)
        .select((pl.col("dur_ns") - slowed_ns).round().cast(pl.Int64))
        .to_series()
    )
    return replace(trace, device=trace.device.with_columns(durations.alias("dur_ns")))


def _without_waiting(trace: Trace, waits: Sequence[Wait]) -> Trace:
    if not waits:
        return trace
    wait = pl.col("wait_ns")
    device = (
        _with_waits(trace, waits)
        .with_columns(ts_ns=pl.col("ts_ns") + wait, dur_ns=pl.col("dur_ns") - wait)
        .select(list(DEVICE_SCHEMA))
        .sort("ts_ns", maintain_order=True)
    )
    return replace(trace, device=device)


def _with_waits(trace: Trace, waits: Sequence[Wait]) -> pl.DataFrame:
    """The device's events with `wait_ns`, 0 where nothing waited."""
    rows = [(wait.ts_ns, wait.dur_ns, wait.wait_ns) for wait in waits]
    schema = {"ts_ns": pl.Int64, "dur_ns": pl.Int64, "wait_ns": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row").unique(["ts_ns", "dur_ns"])
    return trace.device.join(
        table, on=["ts_ns", "dur_ns"], how="left", maintain_order="left"
    ).with_columns(pl.col("wait_ns").fill_null(0))
