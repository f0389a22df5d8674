"""A step as the host asked for it: outermost operators in order, each with its device events.

One unit is one operator call (or one launch outside any operator). Wrappers of torch.compile and
autograd are looked through: what runs inside is the work, and a unit says in which it lies.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import msgspec
import polars as pl

from profiler_core.analysis.ledger.operators import operator
from profiler_core.analysis.work import device_work, host_steps, is_wrapper
from profiler_core.model.trace import Trace

Shapes = tuple[tuple[int, ...] | None, ...]

_REGION = re.compile(r"Torch-Compiled Region(?:: (?P<id>[^\s]+))?")
_GRAPH_CALL = re.compile(r"## Call CompiledFxGraph (?P<key>\S+) ##")
_OPTIMIZER = re.compile(r"Optimizer\.(?:step|zero_grad)#")
_EVALUATE = "autograd::engine::evaluate_function: "
_BY_NUMBER = "seq "
_GRAPH_LAUNCH = re.compile(r"(?:cuda|hip|cu)GraphLaunch")


@dataclass(slots=True)
class Unit:
    """One operator call, or one launch outside any, in one step."""

    name: str  # "aten::linear", "triton_poi_fused_add_0", or the kernel's own name
    ts_ns: int
    end_ns: int
    thread: tuple[int, int]
    run: int | None  # the run of a compiled graph in which it lies
    backward: str | None  # "AddmmBackward0": the autograd node in which it lies
    in_optimizer: bool
    inner: set[str] = field(default_factory=set)  # common names of what runs inside it
    sequence_numbers: list[int] = field(default_factory=list)
    shapes: Shapes = ()
    dtypes: tuple[str, ...] = ()
    events: list[int] = field(default_factory=list)  # rows of the work table, in launch order
    is_replay: bool = False  # a graph launch: its events are dealt to the graph's calls
    call: int | None = None  # index of the generated call, once known

    @property
    def common(self) -> str:
        """The operator's common name."""
        return operator(self.name)


@dataclass(slots=True)
class GraphRun:
    """One execution of one compiled graph in a step."""

    compile_id: str  # "" where the trace does not say
    direction: Literal["forward", "backward"]
    key: str  # of `## Call CompiledFxGraph <key> ##`; "None" and "" say nothing
    ts_ns: int


@dataclass(slots=True)
class HostStep:
    """The units of one step in order of time, all threads together."""

    index: int
    units: list[Unit]
    runs: list[GraphRun]
    main_thread: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class HostWork:
    """All steps of a trace, and the work table that the units' events point into."""

    steps: list[HostStep]
    work: pl.DataFrame


class _Row:
    """One host range or launch of the sweep; slots keep 100 000 of them small."""

    __slots__ = ("dims", "dur", "event", "is_annotation", "name", "seq", "ts", "types")

    def __init__(
        self, ts: int, dur: int, name: str, event: int | None, seq: int | None,
        dims: str | None, types: str | None, is_annotation: bool,
    ) -> None:  # fmt: skip
        self.ts, self.dur, self.name, self.event = ts, dur, name, event
        self.seq, self.dims, self.types, self.is_annotation = seq, dims, types, is_annotation


def _moment(row: _Row) -> int:
    return row.ts


def host_work(trace: Trace) -> HostWork:
    """The steps of a trace; a trace without ProfilerStep ranges is one step.

    Every device event with a step is in exactly one unit of it.
    """
    work = device_work(trace).with_row_index("event")
    steps = host_steps(trace)
    starts = steps["ts_ns"].to_list() or [-(1 << 62)]
    ends = [*starts[1:], max(steps["end_ns"].to_list() or [1 << 62])]
    main = _main_thread(trace)
    rows = _rows(trace, work)
    unlinked = _unlinked(work)
    result = []
    forward_ids: dict[int, str] = {}
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        units: list[Unit] = []
        runs: list[GraphRun] = []
        for thread, every in rows.items():
            # Rows are in order of ts; looking at each once a step would be quadratic.
            until = bisect_left if index + 1 < len(starts) else bisect_right
            inside = slice(bisect_left(every, start, key=_moment), until(every, end, key=_moment))
            _sweep(every[inside], thread, units, runs, forward_ids)
        units.extend(unlinked.get(index, ()))
        units.sort(key=lambda unit: unit.ts_ns)
        for run in runs:  # a compiled backward has the sequence number of its forward
            if run.compile_id.startswith(_BY_NUMBER):
                run.compile_id = forward_ids.get(int(run.compile_id[len(_BY_NUMBER) :]), "")
        result.append(HostStep(index, units, runs, main))
    return HostWork(result, work)


def _main_thread(trace: Trace) -> tuple[int, int] | None:
    """The thread that steps the profiler; where there are no steps, the one with most operators."""
    steps = trace.annotations.filter(pl.col("name").cast(pl.String).str.starts_with("ProfilerStep"))
    frame = steps if steps.height else trace.ops
    if frame.height == 0:
        return None
    busiest = frame.group_by("pid", "tid").len().sort("len", descending=True).row(0)
    return int(busiest[0] or 0), int(busiest[1] or 0)


def _rows(trace: Trace, work: pl.DataFrame) -> dict[tuple[int, int], list[_Row]]:
    """Operators, annotations and launches of every thread that launches or runs operators."""
    rows: dict[tuple[int, int], list[_Row]] = {}
    ops = trace.ops.select(
        "pid", "tid", "ts_ns", "dur_ns", pl.col("name").cast(pl.String),
        "sequence_number", "input_dims", "input_types",
    )  # fmt: skip
    for pid, tid, ts, dur, name, seq, dims, types in ops.iter_rows():
        rows.setdefault((pid or 0, tid or 0), []).append(
            _Row(ts, dur, name, None, seq, dims, types, is_annotation=False)
        )
    notes = trace.annotations.select(
        "pid", "tid", "ts_ns", "dur_ns", pl.col("name").cast(pl.String)
    )
    for pid, tid, ts, dur, name in notes.iter_rows():
        if not name.startswith("ProfilerStep"):
            rows.setdefault((pid or 0, tid or 0), []).append(
                _Row(ts, dur, name, None, None, None, None, is_annotation=True)
            )
    if trace.has_device_events:
        linked = work.filter(pl.col("launch_ts_ns").is_not_null(), pl.col("step").is_not_null())
        table = linked.select(
            "launch_pid", "launch_tid", "launch_ts_ns", pl.col("launch_name").cast(pl.String),
            pl.col("name").cast(pl.String), "event",
        )  # fmt: skip
        for pid, tid, ts, launch, kernel, event in table.iter_rows():
            name = launch if _GRAPH_LAUNCH.match(launch) else kernel
            rows.setdefault((pid or 0, tid or 0), []).append(
                _Row(ts, 0, name, event, None, None, None, is_annotation=False)
            )
    else:  # without a GPU the operators are the work itself (design 6.1)
        counted = work.filter(pl.col("step").is_not_null())
        by_place = {
            (ts, dur, stream, name): event
            for ts, dur, stream, name, event in counted.select(
                "ts_ns", "dur_ns", "stream", pl.col("name").cast(pl.String), "event"
            ).iter_rows()
        }
        for (_, tid), every in rows.items():
            for row in every:
                row.event = (
                    None
                    if row.is_annotation
                    else by_place.pop((row.ts, row.dur, tid, row.name), None)
                )
    for every in rows.values():
        every.sort(key=lambda row: (row.ts, -row.dur))
    return rows


def _unlinked(work: pl.DataFrame) -> dict[int, list[Unit]]:
    """Device events whose launch is not in the trace but whose step is known: one unit each."""
    units: dict[int, list[Unit]] = {}
    if work.height == 0 or work["stream"].null_count() == work.height:
        return units
    lone = work.filter(
        pl.col("launch_ts_ns").is_null(),
        pl.col("step").is_not_null(),
        pl.col("correlation").is_not_null(),
    )
    for step, ts, dur, name, event in lone.select(
        "step", "ts_ns", "dur_ns", pl.col("name").cast(pl.String), "event"
    ).iter_rows():
        units.setdefault(step, []).append(
            Unit(name, ts, ts + dur, (0, 0), None, None, False, events=[event])
        )
    return units


def _sweep(
    rows: list[_Row],
    thread: tuple[int, int],
    units: list[Unit],
    runs: list[GraphRun],
    forward_ids: dict[int, str],
) -> None:
    """Cut one thread's ranges into units. Rows are in order, outer ranges first."""
    wrappers: list[tuple[_Row, int | None]] = []  # with the run that the range opened
    unit: Unit | None = None
    replays: dict[int, Unit] = {}
    for row in rows:
        while wrappers and row.ts >= wrappers[-1][0].ts + wrappers[-1][0].dur and row.dur >= 0:
            wrappers.pop()
        if unit is not None and row.ts >= unit.end_ns and row.ts != unit.ts_ns:
            unit = None
        if row.event is not None and row.dur == 0 and row.seq is None and row.dims is None:
            # A launch. Inside an operator it is that operator's.
            if unit is not None:
                unit.events.append(row.event)
                continue
            if _GRAPH_LAUNCH.match(row.name):
                replay = replays.get(row.ts)
                if replay is None:
                    replay = _unit(row, thread, wrappers)
                    replay.is_replay = True
                    replays[row.ts] = replay
                    units.append(replay)
                replay.events.append(row.event)
                continue
            lone = _unit(row, thread, wrappers)
            lone.events.append(row.event)
            units.append(lone)
            continue
        if unit is not None:
            if not row.is_annotation:
                unit.inner.add(operator(row.name))
                if row.seq is not None:
                    unit.sequence_numbers.append(row.seq)
                if row.event is not None:
                    unit.events.append(row.event)
            continue
        if row.is_annotation or is_wrapper(row.name):
            wrappers.append((row, _open_run(row, wrappers, runs)))
            if row.seq is not None and row.name == "CompiledFunction":
                forward_ids[row.seq] = _region_id(wrappers)
            continue
        unit = _unit(row, thread, wrappers)
        unit.shapes = read_shapes(row.dims)
        unit.dtypes = _read_types(row.types)
        if row.seq is not None:
            unit.sequence_numbers.append(row.seq)
        if row.event is not None:
            unit.events.append(row.event)
        units.append(unit)


def _unit(row: _Row, thread: tuple[int, int], wrappers: list[tuple[_Row, int | None]]) -> Unit:
    run = backward = None
    in_optimizer = False
    numbers: list[int] = []
    for wrapper, opened in reversed(wrappers):
        if run is None and opened is not None:
            run = opened
        if wrapper.name.startswith(_EVALUATE) and backward is None:
            backward = wrapper.name[len(_EVALUATE) :]
            if wrapper.seq is not None:
                numbers.append(wrapper.seq)
        in_optimizer = in_optimizer or _OPTIMIZER.match(wrapper.name) is not None
    return Unit(
        row.name, row.ts, row.ts + row.dur, thread, run, backward, in_optimizer,
        sequence_numbers=numbers,
    )  # fmt: skip


def _open_run(
    row: _Row, wrappers: list[tuple[_Row, int | None]], runs: list[GraphRun]
) -> int | None:
    """A graph call opens a run. Regions nest: it is the innermost one's."""
    found = _GRAPH_CALL.match(row.name)
    if found is None:
        return None
    number = next(
        (
            wrapper.seq
            for wrapper, _ in reversed(wrappers)
            if wrapper.name.endswith("CompiledFunctionBackward") and wrapper.seq is not None
        ),
        None,
    )
    if any(wrapper.name.endswith("CompiledFunctionBackward") for wrapper, _ in wrappers):
        compile_id = f"{_BY_NUMBER}{number}" if number is not None else ""
        runs.append(GraphRun(compile_id, "backward", found["key"], row.ts))
    else:
        runs.append(GraphRun(_region_id(wrappers), "forward", found["key"], row.ts))
    return len(runs) - 1


def _region_id(wrappers: list[tuple[_Row, int | None]]) -> str:
    for wrapper, _ in reversed(wrappers):
        region = _REGION.match(wrapper.name)
        if region is not None:
            return region["id"] or ""
    return ""


def read_shapes(dims: str | None) -> Shapes:
    """`Input Dims` as Kineto writes it -> one shape an argument; None for scalars and lists."""
    return _parse_dims(dims) if dims else ()


@lru_cache(maxsize=1 << 14)  # layers and steps repeat
def _parse_dims(dims: str) -> Shapes:
    try:
        value = msgspec.json.decode(dims.encode())
    except msgspec.DecodeError:
        return ()
    if not isinstance(value, list):
        return ()
    return tuple(
        tuple(item)
        if isinstance(item, list) and item and all(isinstance(n, int) for n in item)
        else None
        for item in value
    )


@lru_cache(maxsize=1 << 14)
def _read_types(types: str | None) -> tuple[str, ...]:
    if not types:
        return ()
    try:
        value = msgspec.json.decode(types.encode())
    except msgspec.DecodeError:
        return ()
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def busy_units(step: HostStep) -> Iterator[tuple[int, Unit]]:
    """The units of a step that started device work, with their numbers."""
    return ((number, unit) for number, unit in enumerate(step.units) if unit.events)
