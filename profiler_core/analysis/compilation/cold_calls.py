"""How much longer the first operators of a compiled call take than the same ones further on.

After the Python between two compiled calls the host's caches and branch predictors hold other
code, so the first operators of the next call are slower: on the hosts of the H200s measured the
first `aten::mm` of a call took 4 to 9 µs more than the later ones, the first Triton kernel 3 to
4 µs. One long call pays that once, each further call pays it again.
"""

from dataclasses import replace

import polars as pl

from profiler_core.analysis.compilation.compiled_calls import CompiledCall
from profiler_core.analysis.step_sample import StepSample
from profiler_core.analysis.work import outermost_operators
from profiler_core.model.trace import Trace

# Operators at the beginning of a call that are compared with later ones: the first library call
# and the first kernel of Inductor's own.
N_FIRST = 2


def cold_start_ns(
    trace: Trace, calls: list[CompiledCall], sample: StepSample | None = None
) -> float:
    """What a call's first operators take more than later ones of the same name, ns a call.

    Args:
        trace: of a compiled run.
        calls: the calls to judge, in order of time. Medians over them: the first profiled step is
            slower than all others.
        sample: the steps in which the calls lie.

    Returns:
        0 where no operator appears both at a call's beginning and later in a call.
    """
    if not calls:
        return 0.0
    if sample is not None and not sample.is_all:  # look at no more operators than needed
        rows = sample.rows(trace.ops["ts_ns"].to_numpy())
        trace = replace(trace, ops=trace.ops[rows])
    spans = _spans(trace, calls)
    later = (
        spans.filter(pl.col("position") >= N_FIRST)
        .group_by("name")
        .agg(usual=pl.col("span").median())
    )
    excess = (
        spans.filter(pl.col("position") < N_FIRST)
        .join(later, on="name")
        .group_by("position")
        .agg(more=(pl.col("span") - pl.col("usual")).median())
    )
    return float(excess["more"].clip(0).sum())


def _spans(trace: Trace, calls: list[CompiledCall]) -> pl.DataFrame:
    """name, position within its call, ns until the next operator of the call begins."""
    table = pl.DataFrame(
        {
            "call": range(len(calls)),
            "ts_ns": [call.start_ns for call in calls],
            "call_end": [call.end_ns for call in calls],
            "stream": [call.thread[1] for call in calls],
        },
        schema={"call": pl.Int64, "ts_ns": pl.Int64, "call_end": pl.Int64, "stream": pl.Int64},
    )
    following = pl.col("ts_ns").shift(-1).over("call")
    return (
        outermost_operators(trace)
        .select("ts_ns", "dur_ns", pl.col("name").cast(pl.String), pl.col("stream").cast(pl.Int64))
        .sort("ts_ns")
        .join_asof(
            table.sort("ts_ns"),
            on="ts_ns",
            by="stream",
            strategy="backward",
            check_sortedness=False,
        )
        .filter(pl.col("call").is_not_null(), pl.col("ts_ns") < pl.col("call_end"))
        .with_columns(
            position=pl.col("ts_ns").cum_count().over("call").cast(pl.Int64) - 1,
            span=(following - pl.col("ts_ns")).fill_null(pl.col("dur_ns")).cast(pl.Float64),
        )
        .select("name", "position", "span")
    )
