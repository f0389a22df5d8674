"""Our columns as HTA keeps a trace in memory: one pandas frame a rank and a symbol table.

Format: hta/common/trace.py and trace_symbol_table.py of HolisticTraceAnalysis 0.5.0. What HTA's
own loader gets wrong is right here:

* stream is -1 for whatever is no device event, also for Inductor's Triton cpu_ops;
* times are whole nanoseconds (HTA rounds to whole microseconds);
* whatever call launched a device event carries a name that HTA takes for a launch;
* a kernel whose name HTA would misread ("…dma…", "…Sync…", ncclDevKernel) gets an alias.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.work import host_steps
from profiler_core.model.trace import KERNEL, MEMCPY, MEMSET, Trace

# What HTA 0.5.0 counts as a launch (TraceSymbolTable.get_runtime_launch_events_query).
_LAUNCH_NAMES = {KERNEL: "cudaLaunchKernel", MEMCPY: "cudaMemcpyAsync", MEMSET: "cudaMemsetAsync"}
STREAM_ZERO = 1 << 30  # HTA drops stream 0 in places; the way back is `Frames.stream`
_HOST = -1
# Compute kernels with one of these in their name are none for HTA (hta/utils/utils.py).
_MISREAD = re.compile(
    r"nccl|hccl|hip|Memcpy|Memset|dma|Sync|LaunchKernel|runFunction|job_exe|Wait Event"
)
COLUMNS = (
    "index", "cat", "name", "pid", "tid", "ts", "dur", "end", "stream", "correlation",
    "index_correlation", "iteration", "memory_bw_gbps",
)  # fmt: skip


@dataclass
class Frames:
    """The frames of all ranks for HTA, and the maps from its names back to the trace's."""

    traces: dict[int, pd.DataFrame] = field(default_factory=dict)
    symbols: list[str] = field(default_factory=list)
    real_names: dict[str, str] = field(default_factory=dict)  # alias -> the kernel's name
    origin_ns: int | None = None  # of the first rank: all are put on its axis
    _ids: dict[str, int] = field(default_factory=dict)

    def symbol(self, text: str) -> int:
        """The id of a word; a new one is added."""
        if text not in self._ids:
            self._ids[text] = len(self.symbols)
            self.symbols.append(text)
        return self._ids[text]

    def alias(self, name: str, category: str) -> str:
        """A name that HTA puts into the right one of its kinds; the same in every job."""
        if category == "communication":
            hta_name = (
                f"ncclKernel_{name.removeprefix('ncclDevKernel_').removeprefix('ncclKernel_')}"
            )
        elif category in ("memcpy", "memset") or not _MISREAD.search(name):
            hta_name = name
        else:
            digest = hashlib.blake2b(name.encode(), digest_size=6).hexdigest()
            hta_name = f"computation {digest}"
        self.real_names[hta_name] = name
        return hta_name


def add_rank(frames: Frames, rank: int, trace: Trace) -> None:
    """Put one rank into the frames, on the time axis of the first one.

    Some of HTA's analyses compare start times of ranks, as their clocks have them.
    """
    if frames.origin_ns is None:
        frames.origin_ns = trace.origin_ns
    shift = trace.origin_ns - frames.origin_ns
    work = categorise(trace)
    steps = numbered_steps(trace)
    rows = pl.concat(
        [_device(frames, work, steps), _host(frames, trace, _launched(work), steps)], how="vertical"
    ).sort("ts", "is_device", maintain_order=True)
    # From 1 on: for HTA, 0 means that the partner is not in the trace.
    rows = rows.with_columns((pl.int_range(pl.len(), dtype=pl.Int64) + 1).alias("index"))
    launches = rows.filter(pl.col("launches")).select("correlation", partner="index")
    devices = (
        rows.filter(pl.col("is_device"))
        .group_by("correlation", maintain_order=True)
        .agg(pl.col("index").first().alias("first_event"))
    )
    rows = rows.join(
        launches.unique("correlation", keep="first"), on="correlation", how="left",
        maintain_order="left",
    ).join(devices, on="correlation", how="left", maintain_order="left")  # fmt: skip
    rows = rows.with_columns(
        pl.when(pl.col("correlation") < 0)
        .then(-1)
        .when(pl.col("is_device"))
        .then(pl.col("partner"))
        .when(pl.col("launches"))
        .then(pl.col("first_event"))
        .fill_null(0)
        .alias("index_correlation"),
        (pl.col("ts") + shift).alias("ts"),
        (pl.col("ts") + pl.col("dur") + shift).alias("end"),
    )
    frame = pd.DataFrame({name: rows[name].to_numpy() for name in COLUMNS})
    # The critical path reads them for synchronisations, of which none is handed over: Kineto
    # writes them only where it was asked to.
    frame["wait_on_stream"] = frame["wait_on_cuda_event_record_corr_id"] = -1
    frame.index = pd.Index(frame["index"].to_numpy())
    frames.traces[rank] = frame


def _device(frames: Frames, work: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    names = work.select(pl.col("name").cast(pl.String), pl.col("category").cast(pl.String))
    symbol_ids = [
        frames.symbol(frames.alias(name, category)) for name, category in names.iter_rows()
    ]
    cats = {cat: frames.symbol(cat) for cat in (KERNEL, MEMCPY, MEMSET)}
    return (
        work.with_columns(pl.Series("id", symbol_ids, dtype=pl.Int64))
        .join(steps.select("step", "iteration"), on="step", how="left", maintain_order="left")
        .select(
            pl.col("cat").cast(pl.String).replace_strict(cats, return_dtype=pl.Int64).alias("cat"),
            pl.col("id").alias("name"),
            pl.col("device").cast(pl.Int64).fill_null(0).alias("pid"),
            _stream().alias("tid"),
            pl.col("ts_ns").alias("ts"),
            pl.col("dur_ns").alias("dur"),
            _stream().alias("stream"),
            pl.col("correlation").fill_null(-1),
            pl.col("iteration").fill_null(-1),
            # bytes a nanosecond are GB/s
            (pl.col("bytes") / pl.col("dur_ns").clip(1)).fill_null(0.0).alias("memory_bw_gbps"),
            pl.lit(True).alias("is_device"),
            pl.lit(False).alias("launches"),
        )
    )


def _stream() -> pl.Expr:
    return pl.col("stream").cast(pl.Int64).fill_null(0).replace(0, STREAM_ZERO)


def add_host(frames: Frames, trace: Trace, launches: set[int]) -> pd.DataFrame:
    """The host's events alone, where the device's are known by other means.

    Args:
        frames: gets the words.
        trace: of one rank.
        launches: rows of trace.runtime that launch a kernel, whatever they are called.
    """
    rows = _host(frames, trace, dict.fromkeys(launches, KERNEL), numbered_steps(trace))
    return pd.DataFrame({name: rows[name].to_numpy() for name in COLUMNS if name in rows.columns})


def numbered_steps(trace: Trace) -> pl.DataFrame:
    """The steps with the number in their name as `iteration`."""
    return host_steps(trace).with_columns(
        pl.col("name").str.extract(r"#\s*(\d+)").cast(pl.Int64).alias("iteration")
    )


def _launched(work: pl.DataFrame) -> dict[int, str]:
    """Row of trace.runtime -> category of what it launched."""
    return dict(
        work.filter(pl.col("launch_row").is_not_null())
        .select("launch_row", pl.col("cat").cast(pl.String))
        .unique("launch_row", keep="first")
        .iter_rows()
    )


def _host(
    frames: Frames, trace: Trace, launched: Mapping[int, str], steps: pl.DataFrame
) -> pl.DataFrame:
    runtime = trace.runtime.with_row_index("row")
    names = [
        frames.symbol(_LAUNCH_NAMES[launched[row]] if row in launched else _not_a_launch(name))
        for row, name in runtime.select("row", pl.col("name").cast(pl.String)).iter_rows()
    ]
    parts = [
        _host_rows(
            runtime.with_columns(
                pl.Series("id", names, dtype=pl.Int64),
                pl.col("row").is_in(list(launched)).alias("launches"),
            ),
            frames.symbol("cuda_runtime"),
        )
    ]
    for table, cat in ((trace.ops, "cpu_op"), (trace.annotations, "user_annotation")):
        ids = [frames.symbol(name) for name in table["name"].cast(pl.String)]
        parts.append(
            _host_rows(
                table.with_columns(
                    pl.Series("id", ids, dtype=pl.Int64),
                    pl.lit(None, pl.Int64).alias("correlation"),
                    pl.lit(False).alias("launches"),
                ),
                frames.symbol(cat),
            )
        )
    host = pl.concat(parts).sort("ts", "dur", descending=[False, True])
    return (
        host.join_asof(
            steps.select(start="ts_ns", end="end_ns", iteration="iteration"),
            left_on="ts", right_on="start", strategy="backward",
        )
        .with_columns(
            pl.when(pl.col("ts") < pl.col("end")).then("iteration").fill_null(-1).alias("iteration")
        )
        .select(
            "cat", "name", "pid", "tid", "ts", "dur", "stream", "correlation", "iteration",
            "memory_bw_gbps", "is_device", "launches",
        )
    )  # fmt: skip


def _host_rows(table: pl.DataFrame, cat: int) -> pl.DataFrame:
    return table.filter(pl.col("dur_ns") >= 0).select(
        pl.lit(cat, pl.Int64).alias("cat"),
        pl.col("id").alias("name"),
        pl.col("pid").fill_null(0),
        pl.col("tid").fill_null(0),
        pl.col("ts_ns").alias("ts"),
        pl.col("dur_ns").alias("dur"),
        pl.lit(_HOST, pl.Int64).alias("stream"),
        pl.col("correlation").fill_null(-1),
        pl.lit(0.0).alias("memory_bw_gbps"),
        pl.lit(False).alias("is_device"),
        pl.col("launches"),
    )


def _not_a_launch(name: str) -> str:
    """A call that launched nothing must not look like one that did."""
    return f"{name} (nothing launched)" if name in _LAUNCH_NAMES.values() else name


def hta_trace(frames: Frames) -> Any:
    """HTA's own Trace object around the frames, as if its loader had made them."""
    from hta.common.trace import Trace as HtaTrace

    trace = HtaTrace(trace_files={}, trace_dir="/")
    trace.traces = frames.traces
    trace.symbol_table.add_symbols(frames.symbols)
    trace.is_parsed = True
    return trace
