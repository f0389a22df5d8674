"""A program that is captured into graphs and replayed, made of one that launches its kernels.

Truth is the program itself: which operator started which kernel. Its host's calls become the
capture, its kernels the replays; nothing of `graph_replays` is used.
"""

from dataclasses import dataclass, replace

import polars as pl

from profiler_core.model.trace import KERNEL, TABLE_SCHEMAS, Trace

LATER_NS = 10_000_000_000
_MAIN = {"pid": 1, "tid": 1}


@dataclass(frozen=True)
class Replayed:
    """What was made. operators: of each device event of `trace`, by row."""

    trace: Trace
    operators: list[str | None]
    n_host_calls: int


def replayed(
    launched: Trace,
    *,
    n_replays: int = 2,
    n_streams: int = 1,
    with_names: bool = True,
    extra_calls: int = 0,
) -> Replayed:
    """Capture and replay what one step of a trace launches.

    Args:
        launched: its kernels have their launches, and these their operators by External id.
        n_replays: steps of the result.
        n_streams: that the replayed kernels are dealt to, so that those beside each other change
            places.
        with_names: the calls say what they launch, as on ROCm.
        extra_calls: captured at the end, and in no replay.
    """
    work = launched.device.join(
        launched.runtime.select("correlation", call_ns="ts_ns"), on="correlation", how="inner"
    ).sort("call_ns")
    operator_of = dict(
        launched.ops.drop_nulls("external_id")
        .select("external_id", pl.col("name").cast(pl.String))
        .iter_rows()
    )
    kernel_of = dict(work.select("correlation", pl.col("name").cast(pl.String)).iter_rows())
    calls = launched.runtime.filter(pl.col("correlation").is_in(list(kernel_of)))
    if with_names:
        names = [kernel_of[correlation] for correlation in calls["correlation"]]
        calls = calls.with_columns(kernel=pl.Series(names, dtype=pl.String))
    first, last = int(calls["ts_ns"].min()), int(calls["ts_ns"].max())
    borders = _runtime(
        [
            {"ts_ns": first - 2, "dur_ns": 1, "name": "cudaStreamBeginCapture"},
            *(
                {"ts_ns": last + 1 + n, "dur_ns": 1, "name": "cudaLaunchKernel", "kernel": "extra"}
                for n in range(extra_calls)
            ),
            {"ts_ns": last + 2 + extra_calls, "dur_ns": 1, "name": "cudaStreamEndCapture"},
        ],
        calls,
    )
    runtime = pl.concat([calls, borders]).sort("ts_ns")
    capture = replace(launched, device=launched.device.clear(), runtime=runtime)
    events, launches, operators = [], [], []
    for number in range(n_replays):
        start = LATER_NS * (number + 1)
        launches.append(
            {"ts_ns": start, "dur_ns": 5, "name": "cudaGraphLaunch", "correlation": number + 1}
        )
        turns = start + 10 + pl.int_range(pl.len()) * 1000
        if n_streams > 1:  # the second of each two begins before the first
            turns = turns - 2 * 1000 * (pl.int_range(pl.len()) % 2) + 1000
        events.append(
            work.with_columns(
                ts_ns=turns,
                stream=pl.int_range(pl.len()) % n_streams,
                correlation=pl.lit(number + 1, pl.Int64),
                started=pl.col("external_id"),
                external_id=pl.lit(None, pl.Int64),
            )
        )
    device = pl.concat(events).sort("ts_ns", maintain_order=True)
    operators = [operator_of.get(number) for number in device["started"]]
    trace = Trace(
        source="replay",
        origin_ns=0,
        **{
            **{name: getattr(launched, name).clear() for name in TABLE_SCHEMAS},
            "device": device.select(launched.device.columns),
            "runtime": _runtime(launches, launched.runtime),
        },
        graph_captures=(capture,),
    )
    return Replayed(trace, operators, calls.height)


def kernels_alone(trace: Trace) -> Trace:
    """Without copies and memsets."""
    return replace(trace, device=trace.device.filter(pl.col("cat").cast(pl.String) == KERNEL))


def _runtime(rows: list[dict[str, object]], like: pl.DataFrame) -> pl.DataFrame:
    filled = [{"cat": "cuda_runtime", **_of_thread(like), **row} for row in rows]
    frame = pl.DataFrame(filled, schema_overrides={"kernel": pl.String})
    missing = [pl.lit(None).alias(name) for name in like.columns if name not in frame.columns]
    return frame.with_columns(missing).select(
        pl.col(name).cast(like.schema[name]) for name in like.columns
    )


def _of_thread(like: pl.DataFrame) -> dict[str, object]:
    return dict(zip(("pid", "tid"), like.select("pid", "tid").row(0), strict=True))
