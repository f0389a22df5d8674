"""Trace -> the events that are drawn, in tracks and rows. Pure; 5 M events take a few seconds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from profiler_core.analysis.categories import categorise
from profiler_core.model.trace import Trace
from profiler_core.timeline.depth import nested_depths, packed_depths
from profiler_core.timeline.host_categories import (
    annotation_category,
    op_category,
    python_category,
    runtime_category,
)
from profiler_core.timeline.layout import TABLES, TrackKind


@dataclass(frozen=True)
class TrackEvents:
    """The events of one track, sorted by start, longer first; arrays of one length."""

    kind: TrackKind
    label: str
    device: int | None
    stream: int | None
    pid: int | None
    tid: int | None
    ts: NDArray[np.int64]
    dur: NDArray[np.int64]
    name: NDArray[np.uint32]  # into Names
    category: NDArray[np.uint8]  # into the categories
    table: NDArray[np.uint8]  # into layout.TABLES
    row: NDArray[np.uint32]  # of that table
    depth: NDArray[np.int64]


class Names:
    """Texts and the numbers that stand for them, given out in the order of asking."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text, the same each time."""
        return self._numbers.setdefault(text, len(self._numbers))

    def texts(self) -> tuple[str, ...]:
        """All texts, by number."""
        return tuple(self._numbers)


def tracks_of(trace: Trace, names: Names, categories: Names) -> Iterator[TrackEvents]:
    """Streams first, each below its ranges; then threads, the one with the steps first.

    Args:
        trace: the columns.
        names: gets the names of the events.
        categories: gets the keys of the categories that occur.
    """
    work = categorise(trace)
    device = _numbered(
        trace.device.with_columns(work["category"] if trace.has_device_events else _NO_CATEGORY),
        "device",
        names,
        categories,
    )
    ranges = _numbered(
        _with_category(trace.gpu_annotations, annotation_category),
        "gpu_annotations",
        names,
        categories,
    )
    stream_keys = sorted(
        {*_keys(device, "device", "stream"), *_keys(ranges, "device", "stream")},
        key=lambda key: tuple(-1 if part is None else part for part in key),
    )
    for stream_key in stream_keys:
        for kind, table in (("ranges", ranges), ("stream", device)):
            part = _at(table, ("device", "stream"), stream_key)
            if part.height:
                yield _track(part, "ranges" if kind == "ranges" else "stream", stream_key, None)

    host = pl.concat(
        [
            _numbered(_categorised_ops(trace, work), "ops", names, categories),
            _numbered(
                _with_category(trace.runtime, runtime_category), "runtime", names, categories
            ),
            _numbered(
                _with_category(trace.annotations, annotation_category),
                "annotations",
                names,
                categories,
            ),
        ],
        how="diagonal",
    )
    for key, label in _threads(trace, host):
        yield _track(_at(host, ("pid", "tid"), key), "thread", None, key, label)
    python = _numbered(_with_category(trace.python, python_category), "python", names, categories)
    for key in sorted(_keys(python, "pid", "tid"), key=str):
        yield _track(_at(python, ("pid", "tid"), key), "python", None, key, "Python stack")


_Key = tuple[int | None, int | None]
_NO_CATEGORY = pl.lit(None, pl.String).alias("category")


def _categorised_ops(trace: Trace, work: pl.DataFrame) -> pl.DataFrame:
    """Operators; without a GPU the kernels among them have their kernel's category."""
    ops = _with_category(trace.ops, op_category)
    if trace.has_device_events:
        return ops
    kernels = work.select(
        "ts_ns", "dur_ns", "name", tid="stream", kernel=pl.col("category").cast(pl.String)
    ).unique(("ts_ns", "dur_ns", "name", "tid"))
    return ops.join(
        kernels,
        on=("ts_ns", "dur_ns", "name", "tid"),
        how="left",
        maintain_order="left",
        nulls_equal=True,
    ).with_columns(category=pl.coalesce("kernel", "category"))


def _with_category(frame: pl.DataFrame, category: Callable[[pl.Expr], pl.Expr]) -> pl.DataFrame:
    """Names repeat, so the expression runs on the distinct ones only."""
    distinct = frame.select(pl.col("name").unique()).with_columns(
        category=category(pl.col("name").cast(pl.String).fill_null(""))
    )
    return frame.join(distinct, on="name", how="left", maintain_order="left", nulls_equal=True)


def _numbered(frame: pl.DataFrame, table: str, names: Names, categories: Names) -> pl.DataFrame:
    """The columns that drawing needs, texts as numbers."""
    key_columns = [c for c in ("device", "stream", "pid", "tid") if c in frame.columns]
    if table == "ops":
        key_columns = ["pid", "tid"]  # its `stream` says nothing about where it ran
    return frame.with_row_index("row").select(
        *key_columns,
        "ts_ns",
        pl.col("dur_ns").fill_null(0).clip(lower_bound=0),
        "row",
        _replaced("name", frame, names).cast(pl.UInt32),
        _replaced("category", frame, categories).cast(pl.UInt8),
        table=pl.lit(TABLES.index(table), pl.UInt8),
    )


def _replaced(column: str, frame: pl.DataFrame, numbers: Names) -> pl.Expr:
    distinct = frame[column].unique(maintain_order=True)
    texts = distinct.cast(pl.String).fill_null("").to_list()
    if not texts:
        return pl.lit(None, pl.UInt32).alias(column)
    return pl.col(column).replace_strict(
        distinct, pl.Series([numbers.number(text) for text in texts], dtype=pl.UInt32)
    )


def _keys(frame: pl.DataFrame, *columns: str) -> set[_Key]:
    return {(a, b) for a, b in frame.select(columns).unique().iter_rows()}


def _at(frame: pl.DataFrame, columns: tuple[str, str], key: _Key) -> pl.DataFrame:
    first, second = columns
    return frame.filter(
        pl.col(first).eq_missing(pl.lit(key[0])) & pl.col(second).eq_missing(pl.lit(key[1]))
    )


def _threads(trace: Trace, host: pl.DataFrame) -> list[tuple[_Key, str]]:
    """Threads that made calls: with the profiler's steps first, then by number of events."""
    steps = trace.annotations.filter(pl.col("name").cast(pl.String).str.starts_with("ProfilerStep"))
    main = {(pid, tid) for pid, tid in steps.select("pid", "tid").unique().iter_rows()}
    backward = trace.ops.filter(pl.col("fwd_thread_id") > 0)
    autograd = {(pid, tid) for pid, tid in backward.select("pid", "tid").unique().iter_rows()}
    sizes = host.group_by("pid", "tid").len().sort("len", descending=True).iter_rows()
    keys: list[_Key] = [(pid, tid) for pid, tid, _ in sizes]
    keys.sort(key=lambda key: (key not in main, key not in autograd))

    def label(key: _Key) -> str:
        if key in main:
            return "Main thread"
        return "Autograd thread" if key in autograd else "Thread"

    return [(key, label(key)) for key in keys]


def _track(
    part: pl.DataFrame,
    kind: TrackKind,
    stream_key: _Key | None,
    thread: _Key | None,
    label: str | None = None,
) -> TrackEvents:
    part = part.sort("ts_ns", "dur_ns", descending=[False, True], maintain_order=True)
    ts = part["ts_ns"].to_numpy().astype(np.int64)
    dur = part["dur_ns"].to_numpy().astype(np.int64)
    depths = packed_depths if kind == "stream" else nested_depths
    device, stream = stream_key or (None, None)
    pid, tid = thread or (None, None)
    return TrackEvents(
        kind=kind,
        label=label or ("Ranges" if kind == "ranges" else "Stream"),
        device=device,
        stream=stream,
        pid=pid,
        tid=tid,
        ts=ts,
        dur=dur,
        name=part["name"].to_numpy().astype(np.uint32),
        category=part["category"].to_numpy().astype(np.uint8),
        table=part["table"].to_numpy().astype(np.uint8),
        row=part["row"].to_numpy().astype(np.uint32),
        depth=depths(ts, ts + dur),
    )
