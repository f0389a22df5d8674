"""What the host did, step after step, as columns; and which steps did the same in the same order.

Steps of one *form* have the same operators, ranges and launches with the same shapes, nested in
the same way and starting the same kernels; only their times differ. So one step of each form is
laid out as objects, and what is found of it holds for the others, event by event.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.ledger.bytes_of_call import WITH_SCALARS
from profiler_core.analysis.per_name import per_name
from profiler_core.analysis.sliding_windows import WITH_WINDOWS
from profiler_core.analysis.work import device_work, host_steps
from profiler_core.model.trace import Trace

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_OPERATOR, _ANNOTATION, _LAUNCH, _UNLINKED = range(4)
_STEP = "ProfilerStep"
# Sequence numbers beyond are torch's "none" (UINT64_MAX, cut to what fits).
_LARGEST_SEQUENCE = 1 << 60


class Row:
    """One host range or launch; slots keep 100 000 of them small."""

    __slots__ = (
        "concrete", "dims", "dur", "event", "is_annotation", "name", "seq", "strides", "ts",
        "types",
    )  # fmt: skip

    def __init__(
        self, ts: int, dur: int, name: str, event: int | None, seq: int | None,
        dims: str | None, types: str | None, is_annotation: bool, concrete: str | None = None,
        strides: str | None = None,
    ) -> None:  # fmt: skip
        self.ts, self.dur, self.name, self.event = ts, dur, name, event
        self.seq, self.dims, self.types, self.is_annotation = seq, dims, types, is_annotation
        self.concrete, self.strides = concrete, strides


@dataclass(frozen=True, slots=True)
class Form:
    """Steps that did the same. events[k] are the rows of the work table of its step steps[k]."""

    steps: Ints
    events: Ints  # (steps, events of a step)

    def like(self, events: list[int]) -> Ints:
        """Rows of the work table in every step (n, m) for rows of the first step (m)."""
        order = np.argsort(self.events[0], kind="stable")
        return self.events[:, order[np.searchsorted(self.events[0], events, sorter=order)]]


@dataclass(frozen=True)
class HostRows:
    """Operators, annotations and launches in order of time, outer ranges first."""

    kind: npt.NDArray[np.int8]
    source: Ints  # row in the table of its kind
    thread: Ints  # place in `threads`
    threads: list[tuple[int, int]]
    event: Ints  # row of `work` that it started, -1: none
    borders: Ints  # rows of step k are borders[k] : borders[k + 1]
    forms: tuple[Form, ...]  # of its steps, in the order in which they come up

    def estimated_size(self) -> int:
        """Bytes of the arrays."""
        places = self.source, self.thread, self.event, self.borders
        events = sum(form.events.nbytes for form in self.forms)
        return self.kind.nbytes + sum(column.nbytes for column in places) + events

    def step(
        self, number: int, trace: Trace, work: pl.DataFrame
    ) -> Iterator[tuple[tuple[int, int], list[Row]]]:
        """The rows of one step, thread by thread; events without a launch are in no thread.

        Args:
            number: of the step.
            trace: that these are the rows of.
            work: its `device_work`, with the column `event`, its row number.
        """
        own = slice(int(self.borders[number]), int(self.borders[number + 1]))
        kind, source, event = self.kind[own], self.source[own], self.event[own]
        threads = self.thread[own]
        for position in range(len(self.threads)):
            mine = (threads == position) & (kind != _UNLINKED)
            if mine.any():
                mine_alone = kind[mine], source[mine], event[mine]
                yield self.threads[position], _objects(*mine_alone, trace, work)

    def unlinked(self, number: int) -> list[int]:
        """The events of a step whose launch is not in the trace."""
        own = slice(int(self.borders[number]), int(self.borders[number + 1]))
        lone: list[int] = self.event[own][self.kind[own] == _UNLINKED].tolist()
        return lone


def _objects(
    kind: npt.NDArray[np.int8], source: Ints, event: Ints, trace: Trace, work: pl.DataFrame
) -> list[Row]:
    rows: list[Row | None] = [None] * kind.size
    places = np.flatnonzero(kind == _OPERATOR)
    ops = trace.ops[source[places]].select(
        "ts_ns", "dur_ns", pl.col("name").cast(pl.String),
        "sequence_number", "input_dims", "input_types", "concrete_inputs",
        "input_strides",
    )  # fmt: skip
    for position, (ts, dur, name, seq, dims, types, concrete, strides) in zip(
        places.tolist(), ops.iter_rows(), strict=True
    ):
        own = int(event[position])
        rows[position] = Row(
            ts, dur, name, None if own < 0 else own, seq, dims, types, False, concrete, strides,
        )  # fmt: skip
    places = np.flatnonzero(kind == _ANNOTATION)
    notes = trace.annotations[source[places]].select(
        "ts_ns", "dur_ns", pl.col("name").cast(pl.String)
    )
    for position, (ts, dur, name) in zip(places.tolist(), notes.iter_rows(), strict=True):
        rows[position] = Row(ts, dur, name, None, None, None, None, True)
    places = np.flatnonzero(kind == _LAUNCH)
    calls = work[source[places]].select(
        "launch_ts_ns",
        pl.col("launch_name").cast(pl.String),
        pl.col("name").cast(pl.String),
        "event",
    )
    for position, (ts, launch, kernel, number) in zip(
        places.tolist(), calls.iter_rows(), strict=True
    ):
        name = launch if "GraphLaunch" in launch else kernel
        rows[position] = Row(ts, 0, name, number, None, None, None, False)
    return [row for row in rows if row is not None]


def host_rows(trace: Trace) -> HostRows:
    """Lay the host's side of a trace out, and find the forms of its steps in order.

    A trace without ProfilerStep ranges is one step.
    """
    return trace.derived("host rows", _host_rows)


def _host_rows(trace: Trace) -> HostRows:
    columns = _columns(trace, device_work(trace).with_row_index("event"))
    steps = host_steps(trace)
    threads, thread = _threads(columns)
    starts = steps["ts_ns"].to_numpy() if steps.height else np.array([-(1 << 62)])
    last = int(steps["end_ns"].max()) if steps.height else 1 << 62  # type: ignore[arg-type]
    # A step lasts until the next one begins, the last one until the last end, that included.
    step = np.searchsorted(starts, columns.ts, side="right") - 1
    step[columns.ts > last] = -1
    lone = columns.kind == _UNLINKED
    if lone.any():
        step[lone] = columns.step[lone]
    order = _in_order(columns, thread, step)
    order = order[step[order] >= 0]
    borders = np.searchsorted(step[order], np.arange(starts.size + 1), side="left")
    own, event = thread[order], columns.event[order]
    signatures = _signatures(columns, order, own, borders)
    return HostRows(
        columns.kind[order], columns.source[order], own, threads, event, borders,
        tuple(_forms(event, borders, signatures)),
    )  # fmt: skip


@dataclass(frozen=True)
class _Columns:
    kind: npt.NDArray[np.int8]
    source: Ints
    ts: Ints
    dur: Ints
    pid: Ints
    tid: Ints
    event: Ints
    step: Ints  # of events without a launch; else -1
    sequence: Ints  # -1: none
    hashes: Hashes  # of names, shapes and dtypes, and of what else tells a result's shape


def _columns(trace: Trace, work: pl.DataFrame) -> _Columns:
    ops = trace.ops
    is_note = per_name(
        trace.annotations["name"], lambda name: not name.startswith(_STEP), pl.Boolean
    )
    notes = trace.annotations.select("ts_ns", "dur_ns", "pid", "tid", "name").with_row_index("row")
    notes = notes.filter(is_note)
    counted = work.select(
        "event", "ts_ns", "dur_ns", "name", "stream", "step", "correlation",
        "launch_ts_ns", "launch_name", "launch_pid", "launch_tid",
    ).filter(pl.col("step").is_not_null())  # fmt: skip
    op_event = np.full(ops.height, -1, dtype=np.int64)
    if trace.has_device_events:
        linked = counted.filter(pl.col("launch_ts_ns").is_not_null())
    else:  # without a GPU the operators are the work itself (docs/columns.md, Device time)
        linked = counted.clear()
        op_event = _own_events(ops, counted)
    lone = counted.clear()
    if work["stream"].null_count() < work.height:
        lone = counted.filter(pl.col("launch_ts_ns").is_null(), pl.col("correlation").is_not_null())
    parts = [ops, notes, linked, lone]
    sizes = [part.height for part in parts]

    def joined(*columns: pl.Series | int) -> Ints:
        return np.concatenate(
            [
                np.full(size, column, dtype=np.int64)
                if isinstance(column, int)
                else column.fill_null(0).cast(pl.Int64).to_numpy()
                for size, column in zip(sizes, columns, strict=True)
            ]
        )

    sequence = ops["sequence_number"].fill_null(-1).to_numpy()
    has_scalars = per_name(ops["name"], (WITH_WINDOWS | WITH_SCALARS).__contains__, pl.Boolean)
    scalars = pl.when(has_scalars).then(pl.col("concrete_inputs"))
    shapes = ops.select(
        pl.col("input_dims").hash(1) ^ (pl.col("input_types").hash(2) * 3) ^ scalars.hash(3)
    ).to_series()
    kernels = _name_hashes(linked["name"]) ^ (_name_hashes(linked["launch_name"]) * np.uint64(5))
    return _Columns(
        kind=np.repeat(np.arange(4, dtype=np.int8), sizes),
        source=joined(
            pl.Series(np.arange(ops.height)), notes["row"], linked["event"], lone["event"]
        ),
        ts=joined(ops["ts_ns"], notes["ts_ns"], linked["launch_ts_ns"], lone["ts_ns"]),
        dur=joined(ops["dur_ns"], notes["dur_ns"], 0, lone["dur_ns"]),
        pid=joined(ops["pid"], notes["pid"], linked["launch_pid"], 0),
        tid=joined(ops["tid"], notes["tid"], linked["launch_tid"], 0),
        event=joined(pl.Series(op_event), -1, linked["event"], lone["event"]),
        step=joined(-1, -1, -1, lone["step"]),
        sequence=np.concatenate([sequence, np.full(sum(sizes[1:]), -1, dtype=np.int64)]),
        hashes=np.concatenate(
            [
                _name_hashes(ops["name"]) ^ shapes.to_numpy(),
                _name_hashes(notes["name"]),
                kernels,
                _name_hashes(lone["name"]),
            ]
        ),
    )


def _name_hashes(names: pl.Series) -> Hashes:
    def answer(name: str) -> int:
        return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")

    return per_name(names, answer, pl.UInt64()).fill_null(0).to_numpy()


def _own_events(ops: pl.DataFrame, counted: pl.DataFrame) -> Ints:
    """The row of the work table that each operator of a trace without a GPU is, -1: none."""
    keys = ["ts_ns", "dur_ns", "stream", "name"]
    asked = ops.select("ts_ns", "dur_ns", pl.col("tid").alias("stream"), "name")
    joined = asked.join(
        counted.select(*keys, "event").unique(keys, keep="last", maintain_order=True),
        on=keys, how="left", maintain_order="left",
    )  # fmt: skip
    # Of operators that are alike in all of this the first one is the work.
    first = joined["event"].is_first_distinct()
    return (
        joined.select(pl.when(first).then(pl.col("event").cast(pl.Int64)).fill_null(-1))
        .to_series()
        .to_numpy()
    )


def _threads(columns: _Columns) -> tuple[list[tuple[int, int]], Ints]:
    """The threads in the order in which they come up, and the place among them of each row."""
    thread_of_row = np.full(columns.ts.size, -1, dtype=np.int64)
    threads: list[tuple[int, int]] = []
    first = 0
    while first < thread_of_row.size:
        pid, tid = int(columns.pid[first]), int(columns.tid[first])
        thread_of_row[(columns.pid == pid) & (columns.tid == tid)] = len(threads)
        threads.append((pid, tid))
        rest = np.flatnonzero(thread_of_row[first:] < 0)
        first = first + int(rest[0]) if rest.size else thread_of_row.size
    return threads, thread_of_row


def _in_order(columns: _Columns, thread: Ints, step: Ints) -> Ints:
    """Rows by step and time; of those that begin together thread by thread, outer ones first."""
    order = np.argsort(columns.ts, kind="stable")  # runs that are in order: merged, not sorted
    ts = columns.ts[order]
    same = np.flatnonzero(ts[1:] == ts[:-1])
    if same.size:
        ties = np.union1d(same, same + 1)
        rows = order[ties]
        order[ties] = rows[np.lexsort((-columns.dur[rows], thread[rows], columns.ts[rows]))]
    if (columns.kind == _UNLINKED).any():
        order = order[np.argsort(step[order], kind="stable")]
    return order


def _signatures(columns: _Columns, order: Ints, own: Ints, borders: Ints) -> Hashes:
    """One number a row: equal where all that a step's layout depends on is."""
    ts, kind = columns.ts[order], columns.kind[order]
    length = np.diff(borders)
    inside = np.zeros(ts.size, dtype=np.int64)
    ranges = kind != _UNLINKED
    for position in range(int(own.max()) + 1 if own.size else 0):
        mine = np.flatnonzero((own == position) & ranges)
        begins = ts[mine]
        # How many rows of its thread and step begin before it ends; does it begin with another?
        following = np.searchsorted(begins, begins + columns.dur[order[mine]], side="left")
        upto = np.searchsorted(mine, borders, side="left")
        following = np.minimum(following, np.repeat(upto[1:], np.diff(upto)))
        inside[mine] = 2 * (following - np.arange(mine.size))
        inside[mine[1:]] += begins[1:] == begins[:-1]
    sequence = columns.sequence[order]
    is_numbered = (sequence >= 0) & (sequence < _LARGEST_SEQUENCE)
    lowest = np.zeros(length.size, dtype=np.int64)
    there = length > 0
    if there.any():
        bounded = np.where(is_numbered, sequence, _LARGEST_SEQUENCE)
        lowest[there] = np.minimum.reduceat(bounded, borders[:-1][there])
    relative = np.where(is_numbered, sequence - np.repeat(lowest, length), np.minimum(sequence, -1))
    mixed = _mix(columns.hashes[order] + kind.astype(np.uint64))
    for part in (own, inside, relative):
        mixed = _mix(mixed ^ part.astype(np.uint64))
    return mixed


def _mix(values: Hashes) -> Hashes:
    """Spread all bits (the finaliser of SplitMix64, Steele et al. 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _forms(event: Ints, borders: Ints, signatures: Hashes) -> list[Form]:
    n_steps = borders.size - 1
    length = np.diff(borders)
    position = np.arange(signatures.size) - np.repeat(borders[:-1], length)
    mixed = _mix(signatures + position.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed)])
    of_step = sums[borders[1:]] - sums[borders[:-1]]
    same: dict[tuple[int, int], list[int]] = {}
    for number in range(n_steps):
        same.setdefault((int(of_step[number]), int(length[number])), []).append(number)
    has_event = event >= 0
    upto = np.concatenate([[0], np.cumsum(has_event)])
    events = event[has_event]
    forms = []
    for numbers in same.values():
        steps = np.array(numbers, dtype=np.int64)
        first, n = upto[borders[steps]], int(upto[borders[steps[0] + 1]] - upto[borders[steps[0]]])
        forms.append(Form(steps, events[first[:, None] + np.arange(n)]))
    return forms
