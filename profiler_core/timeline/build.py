"""Trace -> index on disk: .npy columns that are memory-mapped on opening, and meta.json.

Written into a folder aside and renamed, so that a reader sees a whole index or none.
"""

import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from profiler_core.analysis.work import host_steps
from profiler_core.model.trace import Trace
from profiler_core.timeline.layout import (
    TABLES,
    VERSION,
    Lane,
    Layout,
    Series,
    StepRange,
    Track,
    TrackKind,
)
from profiler_core.timeline.tracks import Names, TrackEvents, tracks_of

META = "meta.json"

# Event columns, by lane and start. 26 bytes an event, and 16 more in the series.
_COLUMNS = ("ts", "dur", "name", "category", "table", "row")
_EVER = (-(2**63), 2**63 - 1)  # ns


def build_index(trace: Trace, folder: Path) -> None:
    """Write the index of `trace` to `folder`, in place of one that lies there.

    An empty trace gives an index without tracks.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _write(trace, aside)
        _put_in_place(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _put_in_place(aside: Path, folder: Path) -> None:
    """Rename `aside` to `folder`, replacing what another process or an older version left there."""
    for _attempt in range(3):
        try:
            aside.rename(folder)
        except OSError:
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
            try:
                folder.rename(old / "index")
            except FileNotFoundError:
                pass  # the other process is replacing it at this moment
            finally:
                shutil.rmtree(old, ignore_errors=True)
        else:
            return
    aside.rename(folder)


def _write(trace: Trace, folder: Path) -> None:
    names, categories = Names(), Names()
    tracks: list[Track] = []
    lanes: list[Lane] = []
    ordered: list[TrackEvents] = []
    n_events = 0
    steps = _steps(trace)
    for events in tracks_of(trace, names, categories):
        order = np.argsort(events.depth, kind="stable")
        counts = np.bincount(events.depth)
        first_lane = len(lanes)
        # A device works on for steps that the host has left: its time is that of all its events.
        within = _EVER if events.kind in ("stream", "ranges") or not steps else _span(steps)
        for depth, count in enumerate(counts.tolist()):
            lanes.append(Lane(len(tracks), depth, n_events, n_events + count))
            n_events += count
        tracks.append(
            Track(
                kind=events.kind,
                label=events.label,
                device=events.device,
                stream=events.stream,
                pid=events.pid,
                tid=events.tid,
                first_lane=first_lane,
                n_lanes=len(counts),
                n_events=events.ts.size,
                busy_ns=_inside_ns(events, categories, _busy_keys(events.kind, categories), within),
                waiting_ns=_inside_ns(events, categories, ("host_wait",), within),
            )
        )
        ordered.append(_reordered(events, order))

    columns = {c: _joined(ordered, c) for c in _COLUMNS}
    series, series_ts, series_cum = _series(columns, lanes)
    files: dict[str, NDArray[Any]] = {
        **columns,
        "series_ts": series_ts,
        "series_cum": series_cum,
        **_positions(columns["table"], columns["row"], trace),
        **_text_columns(names.texts()),
    }
    for name, array in files.items():
        np.save(folder / f"{name}.npy", array)
    ts, dur = columns["ts"], columns["dur"]
    layout = Layout(
        version=VERSION,
        n_events=n_events,
        start_ns=int(ts.min()) if n_events else 0,
        end_ns=int((ts + dur).max()) if n_events else 0,
        categories=categories.texts(),
        steps=steps,
        tracks=tuple(tracks),
        lanes=tuple(lanes),
        series=series,
        skipped=dict(trace.tally.skipped),
        repairs=dict(trace.tally.repairs),
        sizes={f"{name}.npy": (folder / f"{name}.npy").stat().st_size for name in files},
    )
    (folder / META).write_bytes(msgspec.json.encode(layout))


def _busy_keys(kind: TrackKind, categories: Names) -> Collection[str]:
    """The range of a step, or one that the user marks, is no work of the thread that is in it."""
    marks = ("host_step", "host_annotation") if kind == "thread" else ()
    return [key for key in categories.texts() if key not in marks]


def _span(steps: Sequence[StepRange]) -> tuple[int, int]:
    """From the start of the first step on the host to the end of the last one."""
    return steps[0].ts_ns, max(step.end_ns for step in steps)


def _inside_ns(
    events: TrackEvents, categories: Names, keys: Collection[str], within: tuple[int, int]
) -> int:
    """How long a track is inside of events of some categories, between two moments."""
    meant = [number for number, key in enumerate(categories.texts()) if key in keys]
    chosen = np.isin(events.category, meant)
    ts, end = (np.clip(at[chosen], *within) for at in (events.ts, events.ts + events.dur))
    return _union_ns(ts, end)


def _steps(trace: Trace) -> tuple[StepRange, ...]:
    rows = host_steps(trace).select("name", "ts_ns", "end_ns").iter_rows()
    return tuple(StepRange(name, ts_ns, end_ns) for name, ts_ns, end_ns in rows)


def _reordered(events: TrackEvents, order: NDArray[np.int64]) -> TrackEvents:
    """By lane, then by start."""
    return replace(events, **{c: getattr(events, c)[order] for c in (*_COLUMNS, "depth")})


def _joined(tracks: list[TrackEvents], column: str) -> NDArray[Any]:
    parts = [getattr(events, column) for events in tracks]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _series(
    columns: dict[str, NDArray[Any]], lanes: list[Lane]
) -> tuple[tuple[Series, ...], NDArray[np.int64], NDArray[np.int64]]:
    """Starts and running sums of durations of each category in each lane.

    Returns:
        The series; the starts (n_events); and the sums, one more for each series than it has
        events: `cum[i]` is the busy time before event i, the last one that of all.
    """
    series: list[Series] = []
    starts: list[NDArray[np.int64]] = []
    sums: list[NDArray[np.int64]] = []
    n_before = 0
    for number, lane in enumerate(lanes):
        category = columns["category"][lane.first : lane.last]
        ts, dur = (columns[c][lane.first : lane.last] for c in ("ts", "dur"))
        for key in np.flatnonzero(np.bincount(category)).tolist():
            chosen = np.flatnonzero(category == key)
            series.append(Series(number, key, n_before, n_before + chosen.size))
            starts.append(ts[chosen])
            sums.append(np.concatenate((np.zeros(1, np.int64), np.cumsum(dur[chosen]))))
            n_before += chosen.size
    empty = [np.zeros(0, np.int64)]
    return tuple(series), np.concatenate(starts or empty), np.concatenate(sums or empty)


def _positions(
    table: NDArray[np.uint8], row: NDArray[np.uint32], trace: Trace
) -> dict[str, NDArray[Any]]:
    """For each table, the index in the event columns of each of its rows."""
    columns: dict[str, NDArray[Any]] = {}
    for number, name in enumerate(TABLES):
        positions = np.zeros(getattr(trace, name).height, np.uint32)
        chosen = np.flatnonzero(table == number)
        positions[row[chosen]] = chosen
        columns[f"place_{name}"] = positions
    return columns


def _text_columns(texts: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """UTF-8 bytes one after another, and where each text begins; read without loading all."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {
        "name_bytes": np.frombuffer(b"".join(encoded), np.uint8),
        "name_start": np.concatenate((np.zeros(1, np.int64), ends)),
    }


def _union_ns(ts: NDArray[np.int64], end: NDArray[np.int64]) -> int:
    """Length of the union of intervals that are sorted by start."""
    if ts.size == 0:
        return 0
    reached = np.maximum.accumulate(end)
    before = np.concatenate((ts[:1], reached[:-1]))
    return int(np.maximum(end - np.maximum(ts, before), 0).sum())
