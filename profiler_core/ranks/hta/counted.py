"""Hardware counters of kernels, for HTA and by ourselves.

Under CUPTI's range profiler the kernels run one at a time and Kineto writes no event of a kernel,
only ranges. So HTA joins the n-th range with the n-th launch, and gives up where their numbers
differ; it knows `cudaLaunchKernel…` alone, so that it gives up on compiled traces. Ours are joined
the same way over all calls that launch one kernel.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import polars as pl

from profiler_core.model.trace import Trace
from profiler_core.ranks.hta.answer import Figure
from profiler_core.ranks.hta.frames import Frames, add_host, hta_trace

_MOST_OPERATORS = 6
# Calls that launch one kernel each. A graph's launch has many, and no order that tells which.
_ONE_KERNEL = (
    r"^(?:cudaLaunchKernel|cudaLaunchCooperativeKernel|cuLaunchKernel|cuLaunchCooperative)"
)
_NOT_COUNTERS = ("ts_ns", "dur_ns", "name")


@dataclass(frozen=True)
class Counted:
    """One rank. by_operator: outermost operator ("" for none) -> counter -> sum."""

    n_kernels: int
    n_launches: int
    totals: Mapping[str, float]
    by_operator: Mapping[str, Mapping[str, float]]


def kernel_launches(trace: Trace) -> pl.DataFrame:
    """The calls that launch one kernel each, by time, with their `row` in trace.runtime."""
    return trace.runtime.with_row_index("row").filter(
        pl.col("name").cast(pl.String).str.contains(_ONE_KERNEL)
    )


def counted(trace: Trace, ranges: pl.DataFrame) -> Counted:
    """Our own sums; by operator only where there are as many launches as ranges."""
    names = [name for name in ranges.columns if name not in _NOT_COUNTERS]
    launches = kernel_launches(trace)
    by_operator: dict[str, Mapping[str, float]] = {}
    if launches.height == ranges.height:
        operators = _outermost(trace, launches)
        sums = (
            ranges.with_columns(operators.alias("operator"))
            .group_by("operator", maintain_order=True)
            .agg(pl.col(name).sum() for name in names)
        )
        by_operator = {row["operator"]: {n: row[n] for n in names} for row in sums.to_dicts()}
    totals = {name: float(ranges[name].sum()) for name in names}
    return Counted(ranges.height, launches.height, totals, by_operator)


def _outermost(trace: Trace, launches: pl.DataFrame) -> pl.Series:
    """The outermost operator around each launch, "" where there is none."""
    end = pl.col("ts_ns") + pl.col("dur_ns")
    ops = (
        trace.ops.select("ts_ns", "dur_ns", "pid", "tid", pl.col("name").cast(pl.String))
        .sort("ts_ns", "dur_ns", descending=[False, True])
        .with_columns(end.alias("op_end"), end.cum_max().shift(1).over("pid", "tid").alias("until"))
        .filter(pl.col("until").is_null() | (pl.col("ts_ns") >= pl.col("until")))
        .select("pid", "tid", "op_end", operator="name", op_ts="ts_ns")
    )
    joined = launches.sort("ts_ns").join_asof(
        ops.sort("op_ts"), left_on="ts_ns", right_on="op_ts", by=["pid", "tid"],
        strategy="backward", check_sortedness=False,
    )  # fmt: skip
    inside = pl.col("ts_ns") < pl.col("op_end")
    return joined.select(pl.when(inside).then("operator").fill_null("")).to_series()


def add_counted(frames: Frames, rank: int, trace: Trace, ranges: pl.DataFrame) -> None:
    """Put the host's side and the ranges of one rank into frames of their own."""
    host = add_host(frames, trace, set(kernel_launches(trace)["row"]))
    names = [name for name in ranges.columns if name not in _NOT_COUNTERS]
    category = frames.symbol("cuda_profiler_range")
    rows = pd.DataFrame(
        {
            "cat": category,
            "name": [frames.symbol(name) for name in ranges["name"]],
            # Of no thread that has operators: a range is no host event.
            "pid": 0, "tid": 0,
            "ts": ranges["ts_ns"].to_numpy(), "dur": ranges["dur_ns"].to_numpy(),
            "stream": -1, "correlation": -1, "iteration": -1, "memory_bw_gbps": 0.0,
            **{name: ranges[name].to_numpy() for name in names},
        }
    )  # fmt: skip
    frame = pd.concat([host, rows], ignore_index=True).sort_values("ts", kind="stable")
    frame["end"] = frame["ts"] + frame["dur"]
    frame["index"] = range(1, len(frame) + 1)
    frame["index_correlation"] = -1
    frame.index = pd.Index(frame["index"].to_numpy())
    frames.traces[rank] = frame


def counter_figures(frames: Frames, counts_by_rank: Mapping[int, Counted]) -> list[Figure]:
    """HTA's table of kernels with counters, summed, beside our sums."""
    from hta.analyzers.cupti_counter_analysis import CuptiCounterAnalysis

    figures: list[Figure] = []
    for rank, counts in counts_by_rank.items():
        tables = CuptiCounterAnalysis.get_counter_data_with_operators(hta_trace(frames), [rank])
        if not tables:  # it found fewer or more launches than ranges
            figures += own_counter_figures({rank: counts})
            continue
        table = tables[0]
        of = f"rank {rank}"
        figures.append(
            Figure(f"{of}: kernels with counters", "count", len(table), counts.n_kernels)
        )
        figures += [
            Figure(f"{of}: {name}", "count", table[name].sum(), total)
            for name, total in counts.totals.items()
        ]
        grouped = table.groupby("top_level_op")
        for operator, counter in _largest_counters(counts):
            part = (
                grouped.get_group(operator)[counter].sum() if operator in grouped.groups else None
            )
            figures.append(
                Figure(f"{of}, {operator}: {counter}", "count", part,
                       counts.by_operator[operator][counter])
            )  # fmt: skip
    return figures


def own_counter_figures(counts_by_rank: Mapping[int, Counted]) -> list[Figure]:
    """Our sums alone."""
    figures = []
    for rank, counts in counts_by_rank.items():
        of = f"rank {rank}"
        figures.append(Figure(f"{of}: kernels with counters", "count", None, counts.n_kernels))
        figures += [
            Figure(f"{of}: {n}", "count", None, total) for n, total in counts.totals.items()
        ]
        figures += [
            Figure(f"{of}, {operator}: {name}", "count", None, counts.by_operator[operator][name])
            for operator, name in _largest_counters(counts)
        ]
    return figures


def _largest_counters(counts: Counted) -> list[tuple[str, str]]:
    """(operator, counter) pairs to list: the largest counter, of the operators with most of it."""
    largest = max(counts.totals, key=lambda name: counts.totals[name], default=None)
    if largest is None:
        return []
    ordered = sorted(counts.by_operator, key=lambda op: -counts.by_operator[op][largest])
    return [(op, largest) for op in ordered[:_MOST_OPERATORS] if op]
