"""The graphs whose capture a trace shows: the launches between begin and end of each capture.

While a stream is captured, a launch starts nothing: it becomes a node of the graph. Its call is in
the trace with the operator, the shapes and the module around it, and no device event has its
correlation. Sources: cudaStreamBeginCapture (CUDA Runtime API, Graph Management), hipStream-
BeginCapture (HIP); what servers write: vLLM `--profiler-config.capture_torch_profiler…`, SGLang
`--enable-profile-cuda-graph`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from profiler_core.analysis.launches import is_graph_launch
from profiler_core.analysis.per_name import per_name
from profiler_core.model.trace import KERNEL, MEMCPY, MEMSET, Trace

Kind = Literal["kernel", "gpu_memcpy", "gpu_memset"]

_BEGIN = re.compile(r"(?:cuda|hip|cu)StreamBeginCapture")
_END = re.compile(r"(?:cuda|hip|cu)StreamEndCapture")
# torch.cuda.graph, vLLM (`capture_32_FULL`) and SGLang (`capture_32_DECODE`) say the batch size.
_BUCKET = re.compile(r"^capture_(\d+)(?:_|$)")


@dataclass(frozen=True, slots=True)
class CapturedCall:
    """One launch that became a node of a graph."""

    row: int  # of its trace's runtime table
    kind: Kind
    kernel: str | None  # what it launches, where the call says it


@dataclass(frozen=True, slots=True)
class CapturedGraph:
    """One graph, as it was captured."""

    source: int  # 0: the trace that replays; n: the n-th of its graph_captures
    calls: tuple[CapturedCall, ...]  # in the order in which the host made them
    bucket: int | None  # the batch size that it was captured for, where a range says it


def captured_graphs(trace: Trace, source: int) -> list[CapturedGraph]:
    """The graphs that a trace shows being captured, in order of time; those without nodes aside.

    Args:
        trace: with the host's calls.
        source: how the result calls this trace.
    """
    captures = list(_captures(trace.runtime))
    if not captures:
        return []
    launches = _launches(trace)
    starts = launches["ts_ns"]
    ranges = [(ts, end, int(bucket)) for ts, end, bucket in _buckets(trace)]
    graphs = []
    for begin, end, pid in captures:
        first, last = starts.search_sorted(begin), starts.search_sorted(end)
        inside = launches[int(first) : int(last)].filter(pl.col("pid").eq_missing(pid))
        calls = tuple(
            CapturedCall(row, kind, kernel)
            for row, kind, kernel in inside.select("row", "kind", "kernel").iter_rows()
        )
        around = [bucket for ts, stop, bucket in ranges if ts <= begin and end <= stop]
        if calls:
            graphs.append(CapturedGraph(source, calls, around[-1] if around else None))
    return graphs


def _captures(runtime: pl.DataFrame) -> Iterator[tuple[int, int, int | None]]:
    """(begin, end, pid) of each capture; of nested ones in one process the outer counts."""
    calls = runtime.filter(per_name(runtime["name"], _is_border, pl.Boolean))
    open_: dict[int | None, list[int]] = {}
    for ts, dur, name, pid in calls.select(
        "ts_ns", "dur_ns", pl.col("name").cast(pl.String), "pid"
    ).iter_rows():
        begun = open_.setdefault(pid, [])
        if _BEGIN.match(name):
            begun.append(ts + dur)
        elif _END.match(name) and begun:
            begin = begun.pop()
            if not begun:
                yield begin, ts, pid


def _is_border(name: str) -> bool:
    return _BEGIN.match(name) is not None or _END.match(name) is not None


def _launches(trace: Trace) -> pl.DataFrame:
    """Calls that start device work by their name, and started none: ts_ns, pid, row, kind, kernel.

    A runtime call and the driver call inside it may share a correlation: the outer one counts.
    """
    started = trace.device.select("correlation").drop_nulls().unique()
    kind = (
        pl.when(pl.col("call").str.contains("Memcpy"))
        .then(pl.lit(MEMCPY))
        .when(pl.col("call").str.contains("Memset"))
        .then(pl.lit(MEMSET))
        .when(pl.col("call").str.contains("Launch") & ~pl.col("call").str.contains("HostFunc"))
        .then(pl.lit(KERNEL))
    )
    return (
        trace.runtime.with_row_index("row")
        .with_columns(call=pl.col("name").cast(pl.String))
        .filter(
            pl.col("call").str.contains("Launch|Memcpy|Memset"),
            ~per_name(trace.runtime["name"], is_graph_launch, pl.Boolean),
        )
        .join(started, on="correlation", how="anti", maintain_order="left")
        .filter(pl.col("correlation").is_null() | pl.col("correlation").is_first_distinct())
        .select("ts_ns", "pid", "row", "kernel", kind=kind)
        .filter(pl.col("kind").is_not_null())
    )


def _buckets(trace: Trace) -> Iterator[tuple[int, int, str]]:
    """(begin, end, batch size) of the ranges that say for what a graph is captured."""
    for name, ts, dur in trace.annotations.select(
        pl.col("name").cast(pl.String), "ts_ns", "dur_ns"
    ).iter_rows():
        bucket = _BUCKET.match(name)
        if bucket is not None:
            yield ts, ts + dur, bucket[1]
