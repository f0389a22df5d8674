"""The events of one run: a process, its streams and threads as rows, launches as flows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from profiler_core.export.chrome import Event, process_event, thread_event, us
from profiler_core.export.groups import GroupArguments, Landing
from profiler_core.export.rows import nesting_rows
from profiler_core.model.trace import Trace
from profiler_core.timeline.layout import TABLES
from profiler_core.timeline.tracks import Names, TrackEvents, tracks_of

# Columns that an event carries as arguments, under the names that Kineto gives them.
_ARGUMENTS: dict[str, dict[str, str]] = {
    "device": {
        "device": "device",
        "stream": "stream",
        "correlation": "correlation",
        "external_id": "External id",
        "bytes": "bytes",
        "grid": "grid",
        "block": "block",
        "registers_per_thread": "registers per thread",
        "shared_memory_bytes": "shared memory",
        "occupancy_pct": "est. achieved occupancy %",
        "graph_node_id": "graph node id",
    },
    "gpu_annotations": {},
    "ops": {
        "external_id": "External id",
        "sequence_number": "Sequence number",
        "input_dims": "Input Dims",
        "input_types": "Input type",
        "kernel_file": "kernel_file",
    },
    "runtime": {"correlation": "correlation", "external_id": "External id"},
    "annotations": {},
    "python": {},
}
_CATEGORY = {
    "gpu_annotations": "gpu_user_annotation",
    "ops": "cpu_op",
    "annotations": "user_annotation",
    "python": "python_function",
}
_TIDS_A_RUN = 100_000  # row numbers of one run; Perfetto wants them unique in the file


@dataclass(frozen=True)
class RunEvents:
    """One run in the file. `zero_ns` is where the file begins, on the trace's own axis."""

    trace: Trace
    pid: int
    name: str
    zero_ns: int
    groups: GroupArguments


def run_events(run: RunEvents) -> Iterator[Event]:
    """Every event of the trace that is drawn; the profiler's own bookkeeping is not."""
    yield from process_event(run.pid, run.name, run.pid)
    names, categories = Names(), Names()
    tables = {name: _Arguments(run.trace, name) for name in TABLES}
    launches: dict[int, Landing] = {}
    arrivals: list[tuple[int, Landing]] = []
    tid = run.pid * _TIDS_A_RUN
    for track in tracks_of(run.trace, names, categories):
        rows = track.depth if track.kind == "stream" else nesting_rows(track.ts, _ends(track))
        n_rows = int(rows.max()) + 1 if rows.size else 0
        for number in range(n_rows):
            yield from thread_event(
                run.pid,
                tid + number,
                _row_name(track, number),
                tid + number - run.pid * _TIDS_A_RUN,
            )
        texts, kinds = names.texts(), categories.texts()
        for row, ts, dur, name, kind, table_number, table_row in zip(
            rows.tolist(),
            track.ts.tolist(),
            track.dur.tolist(),
            track.name.tolist(),
            track.category.tolist(),
            track.table.tolist(),
            track.row.tolist(),
            strict=True,
        ):
            table = TABLES[table_number]
            category, arguments = tables[table].at(table_row)
            landing = Landing(run.pid, tid + row, ts - run.zero_ns)
            correlation = arguments.get("correlation")
            if correlation is not None and table == "runtime":
                launches.setdefault(correlation, landing)
            elif correlation is not None and table == "device":
                arrivals.append((correlation, landing))
            groups = run.groups.arguments(table, table_row)
            if groups:
                run.groups.landed(table, table_row, landing)
            yield {
                "ph": "X",
                "cat": category,
                "name": texts[name],
                "pid": run.pid,
                "tid": landing.tid,
                "ts": us(landing.ts_ns),
                "dur": us(dur),
                "args": {"category": kinds[kind], **arguments, **groups},
            }
        tid += n_rows
    yield from _launch_flows(run.pid, launches, arrivals)


def _launch_flows(
    pid: int, launches: dict[int, Landing], arrivals: list[tuple[int, Landing]]
) -> Iterator[Event]:
    """From each launch call to what it started; one call may start many."""
    for number, (correlation, arrival) in enumerate(arrivals):
        launch = launches.get(correlation)
        if launch is None or launch.ts_ns > arrival.ts_ns:
            continue
        flow = {"name": "launch", "cat": "ac2g", "id": pid * 2**32 + number, "pid": pid}
        yield {"ph": "s", **flow, "tid": launch.tid, "ts": us(launch.ts_ns)}
        yield {"ph": "f", "bp": "e", **flow, "tid": arrival.tid, "ts": us(arrival.ts_ns)}


class _Arguments:
    """Category and arguments of the events of one table, by row."""

    def __init__(self, trace: Trace, table: str) -> None:
        frame: pl.DataFrame = getattr(trace, table)
        self._names = _ARGUMENTS[table]
        self._columns = [_plain(frame, column) for column in self._names]
        self._categories = _plain(frame, "cat") if "cat" in frame.columns else None
        self._category = _CATEGORY.get(table, table)

    def at(self, row: int) -> tuple[str, dict[str, Any]]:
        """Category and arguments of a row; arguments without a value are left out."""
        values = zip(self._names.values(), self._columns, strict=True)
        arguments = {name: column[row] for name, column in values if column[row] is not None}
        category = self._category if self._categories is None else self._categories[row]
        return category, arguments


def _plain(frame: pl.DataFrame, column: str) -> list[Any]:
    series = frame[column]
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    return series.to_list()


def _ends(track: TrackEvents) -> np.ndarray[Any, np.dtype[np.int64]]:
    return track.ts + track.dur


def _row_name(track: TrackEvents, number: int) -> str:
    """As the timeline calls it; what overlaps on one stream lies in rows of the same name."""
    if track.kind in ("stream", "ranges"):
        device = "GPU" if track.device is None else f"GPU {track.device}"
        base = device if track.stream is None else f"{device} stream {track.stream}"
        base = f"{base} ranges" if track.kind == "ranges" else base
    else:
        base = track.label if track.tid is None else f"{track.label} {track.tid}"
    return base if number == 0 else f"{base} (overlapping {number})"
