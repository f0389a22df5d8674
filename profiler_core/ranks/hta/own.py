"""The same questions answered from our columns alone, by HTA's definitions, in whole ns.

Definitions: HolisticTraceAnalysis 0.5.0, hta/analyzers (breakdown, communication, counters).
Nothing of HTA and nothing of `frames` is used: these are what HTA's answers are held against.
"""

from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.intervals import union_ns
from profiler_core.model.trace import KERNEL, Trace


@dataclass(frozen=True)
class OwnNumbers:
    """One rank, whole trace, ns. Streams and kinds of copies as in the trace."""

    span_ns: int  # first start to last end of the device's events
    busy_ns: int
    compute_ns: int
    communication_ns: int
    overlap_ns: int
    gap_ns: dict[int, int]  # stream -> sum of gaps between neighbours
    late_gap_ns: dict[int, int]  # of these, where the launch began after the gap had
    kinds_ns: dict[str, int]  # HTA's kinds of kernels, each nanosecond once
    longest_queue: dict[int, int]  # stream -> launched and not yet started
    bandwidth: dict[str, float]  # kind of copy -> most bytes a ns at one time


def own_numbers(trace: Trace) -> OwnNumbers:
    """The figures of one rank; its trace must have device events."""
    work = categorise(trace).sort("ts_ns")
    is_communication = pl.col("category") == "communication"
    compute = work.filter(pl.col("cat") == KERNEL, ~is_communication)
    communication = work.filter(is_communication)
    copies = work.filter(pl.col("cat") != KERNEL)
    c, m = union_ns(compute), union_ns(communication)
    cm = union_ns(pl.concat([compute, communication]).sort("ts_ns"))
    end = pl.col("ts_ns") + pl.col("dur_ns")
    gaps = _gaps(work)
    return OwnNumbers(
        span_ns=work.select(end.max() - pl.col("ts_ns").min()).item(),
        busy_ns=union_ns(work),
        compute_ns=c,
        communication_ns=m,
        overlap_ns=c + m - cm,
        gap_ns=_by_stream(gaps, pl.col("gap")),
        late_gap_ns=_by_stream(
            gaps.filter(pl.col("launch_ts_ns") > pl.col("before")), pl.col("gap")
        ),
        kinds_ns=_kinds(compute, communication, copies),
        longest_queue=_queues(work),
        bandwidth=_bandwidth(copies),
    )


def _gaps(work: pl.DataFrame) -> pl.DataFrame:
    end = pl.col("ts_ns") + pl.col("dur_ns")
    before = end.shift(1).over("stream")
    return work.with_columns(before=before, gap=pl.col("ts_ns") - before)


def _by_stream(gaps: pl.DataFrame, value: pl.Expr) -> dict[int, int]:
    return dict(gaps.group_by("stream").agg(value.sum()).sort("stream").iter_rows())


def _kinds(
    compute: pl.DataFrame, communication: pl.DataFrame, copies: pl.DataFrame
) -> dict[str, int]:
    """Time in which exactly these kinds ran together (inclusion and exclusion)."""
    parts = {"COMPUTATION": compute, "COMMUNICATION": communication, "MEMORY": copies}

    def union(*names: str) -> int:
        return union_ns(pl.concat([parts[name] for name in names]).sort("ts_ns"))

    everything = union(*parts)
    kinds_ns = {}
    for name in parts:
        other_kinds = [kind for kind in parts if kind != name]
        kinds_ns[name] = everything - union(*other_kinds)
    for first, second, third in (
        ("COMPUTATION", "COMMUNICATION", "MEMORY"),
        ("COMPUTATION", "MEMORY", "COMMUNICATION"),
        ("COMMUNICATION", "MEMORY", "COMPUTATION"),
    ):
        # In first or second but not in third, less what is in only one of them.
        outside = everything - union(third)
        kinds_ns[f"{first} overlapping {second}"] = outside - kinds_ns[first] - kinds_ns[second]
    remainder = everything - sum(kinds_ns.values())
    kinds_ns["COMPUTATION overlapping COMMUNICATION overlapping MEMORY"] = remainder
    return {name: ns for name, ns in kinds_ns.items() if ns}


def _queues(work: pl.DataFrame) -> dict[int, int]:
    linked = work.filter(pl.col("launch_ts_ns").is_not_null())
    events = pl.concat(
        [
            linked.select("stream", at="launch_ts_ns", change=pl.lit(1)),
            linked.select("stream", at="ts_ns", change=pl.lit(-1)),
        ]
    ).sort("stream", "at", "change", descending=[False, False, True])
    length = pl.col("change").cum_sum().over("stream")
    return dict(events.group_by("stream").agg(length.max()).sort("stream").iter_rows()) if (
        events.height
    ) else {}  # fmt: skip


def _bandwidth(copies: pl.DataFrame) -> dict[str, float]:
    dur = pl.col("dur_ns").clip(1)
    rate = (pl.col("bytes") / dur).fill_null(0.0)
    kind = pl.col("name").cast(pl.String)
    rates = copies.select(
        pl.when(kind.str.starts_with("Memset"))
        .then(pl.lit("Memset"))
        .when(kind.str.starts_with("Memcpy"))
        .then(kind.str.slice(0, 11))
        .otherwise(pl.lit("Memcpy Unknown"))
        .alias("kind"),
        rate.alias("rate"),
        start="ts_ns",
        end=pl.col("ts_ns") + dur,
    )
    events = pl.concat(
        [
            rates.select("kind", at="start", change="rate"),
            rates.select("kind", at="end", change=-pl.col("rate")),
        ]
    ).sort("kind", "at", "change")
    running = events.with_columns(pl.col("change").cum_sum().over("kind").alias("now"))
    return dict(running.group_by("kind").agg(pl.col("now").max()).sort("kind").iter_rows())
