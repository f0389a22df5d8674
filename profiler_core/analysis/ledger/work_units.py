"""A step as the host asked for it: outermost operators in order, each with its device events.

One unit is one operator call (or one launch outside any operator). Wrappers of torch.compile and
autograd are looked through: what runs inside is the work, and a unit says in which it lies.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import polars as pl

from profiler_core.analysis.ledger.bytes_of_call import WITH_SCALARS
from profiler_core.analysis.ledger.bytes_of_lists import item_of_lists
from profiler_core.analysis.ledger.host_rows import Form, Row, host_rows
from profiler_core.analysis.ledger.operator_call import ITEM_BYTES
from profiler_core.analysis.ledger.operators import operator
from profiler_core.analysis.operator_arguments import json_list, lists_of_shapes
from profiler_core.analysis.sliding_windows import WITH_WINDOWS
from profiler_core.analysis.work import device_work, is_wrapper
from profiler_core.model.inductor import is_of_compiled_autograd
from profiler_core.model.trace import Trace

Shapes = tuple[tuple[int, ...] | None, ...]

_REGION = re.compile(r"Torch-Compiled Region(?:: (?P<id>[^\s]+))?")
_GRAPH_CALL = re.compile(r"## Call CompiledFxGraph (?P<key>\S+) ##")
_OPTIMIZER = re.compile(r"Optimizer\.(?:step|zero_grad)#")
BACKWARD_NODE = "autograd::engine::evaluate_function: "
_BY_NUMBER = "seq "
_GRAPH_LAUNCH = re.compile(r"(?:cuda|hip|cu)GraphLaunch")


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A call of a convolution or pooling, with the arguments that tell its result's shape."""

    name: str
    shapes: Shapes
    concrete: tuple[str, ...]  # what is no tensor, each in the place of its argument


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
    strides: Shapes = ()  # of its tensors; () where they are not recorded
    lists: tuple[tuple[tuple[int, ...], ...], ...] = ()  # shapes in its lists of tensors
    list_item: int = 0  # bytes of one value in these; 0: not known
    events: list[int] = field(default_factory=list)  # rows of the work table, in launch order
    # Of each event the innermost range in it that launched it; None: a launch outside any operator.
    launched_in: list[Row | None] = field(default_factory=list)
    is_replay: bool = False  # a graph launch: its events are dealt to the graph's calls
    call: int | None = None  # index of the generated call, once known
    # Kernels of a replay with the operator that another run shows, or the capture of the graph.
    is_recorded: bool = False
    module: str | None = None  # that the capture of its graph shows
    scalars: tuple[str, ...] = ()  # arguments that are no tensors, where they tell bytes
    # Of the last call of this operator inside it, or its own: under autocast they differ.
    inner_dtypes: tuple[str, ...] = ()
    # Of a convolution or pooling: itself or the last such call inside it, which has its padding in
    # numbers, and the indices of a maximum.
    window: WindowCall | None = None

    @property
    def common(self) -> str:
        """The operator's common name."""
        return operator(self.name)

    @property
    def is_launch(self) -> bool:
        """A launch outside any operator, whose name is its kernel's."""
        return self.end_ns == self.ts_ns and not self.is_recorded

    def take(self, other: "Unit") -> None:
        """Be the operator that started the same kernels in another run."""
        self.name, self.shapes, self.dtypes = other.name, other.shapes, other.dtypes
        self.strides, self.lists, self.list_item = other.strides, other.lists, other.list_item
        self.inner, self.is_recorded, self.scalars = set(other.inner), True, other.scalars
        self.inner_dtypes, self.window = other.inner_dtypes, other.window
        self.launched_in = list(other.launched_in)


@dataclass(slots=True)
class GraphRun:
    """One execution of one compiled graph in a step."""

    compile_id: str  # "" where the trace does not say
    direction: Literal["forward", "backward"]
    key: str  # of `## Call CompiledFxGraph <key> ##`; "None" and "" say nothing
    ts_ns: int


@dataclass(slots=True)
class HostStep:
    """The units of one step in order of time, all threads together.

    It stands for all steps of its form: `form.like(unit.events)` are the same events in each.
    """

    index: int  # among the forms
    units: list[Unit]
    runs: list[GraphRun]
    main_thread: tuple[int, int] | None
    form: Form


@dataclass(frozen=True, slots=True)
class HostWork:
    """A step of each form, and the work table that the units' events point into."""

    steps: list[HostStep]
    work: pl.DataFrame
    n_steps: int  # of the trace


def host_work(trace: Trace) -> HostWork:
    """One step of each form of a trace; a trace without ProfilerStep ranges is one step.

    Every device event with a step is in exactly one unit of it.
    """
    work = device_work(trace).with_row_index("event")
    rows = host_rows(trace)
    main = _main_thread(trace)
    result = []
    forward_ids: dict[int, str] = {}
    for index, form in enumerate(rows.forms):
        number = int(form.steps[0])
        units: list[Unit] = []
        runs: list[GraphRun] = []
        for thread, every in rows.step(number, trace, work):
            _sweep(every, thread, units, runs, forward_ids)
        units.extend(_unlinked(work, rows.unlinked(number)))
        units.sort(key=lambda unit: unit.ts_ns)
        for unit in units:
            if unit.lists and unit.events:
                unit.list_item = item_of_lists(work["name"].gather(unit.events).cast(pl.String))
        unknown = [run for run in runs if run.compile_id.startswith(_BY_NUMBER)]
        if number and any(_number_of(run) not in forward_ids for run in unknown):
            # Its forward began in the step before.
            for thread, every in rows.step(number - 1, trace, work):
                _sweep(every, thread, [], [], forward_ids)
        for run in unknown:  # a compiled backward has the sequence number of its forward
            run.compile_id = forward_ids.get(_number_of(run), "")
        result.append(HostStep(index, units, runs, main, form))
    return HostWork(result, work, sum(form.steps.size for form in rows.forms))


def _number_of(run: GraphRun) -> int:
    return int(run.compile_id[len(_BY_NUMBER) :])


def _main_thread(trace: Trace) -> tuple[int, int] | None:
    """The thread that steps the profiler; where there are no steps, the one with most operators."""
    steps = trace.annotations.filter(pl.col("name").cast(pl.String).str.starts_with("ProfilerStep"))
    frame = steps if steps.height else trace.ops
    if frame.height == 0:
        return None
    busiest = frame.group_by("pid", "tid").len().sort("len", descending=True).row(0)
    return int(busiest[0] or 0), int(busiest[1] or 0)


def _unlinked(work: pl.DataFrame, events: list[int]) -> list[Unit]:
    """Device events whose launch is not in the trace but whose step is known: one unit each."""
    return [
        Unit(name, ts, ts + dur, (0, 0), None, None, False, events=[event], launched_in=[None])
        for ts, dur, name, event in work[events]
        .select("ts_ns", "dur_ns", pl.col("name").cast(pl.String), "event")
        .iter_rows()
    ]


def _sweep(
    rows: list[Row],
    thread: tuple[int, int],
    units: list[Unit],
    runs: list[GraphRun],
    forward_ids: dict[int, str],
) -> None:
    """Cut one thread's ranges into units. Rows are in order, outer ranges first."""
    wrappers: list[tuple[Row, int | None]] = []  # with the run that the range opened
    unit: Unit | None = None
    inside: list[Row] = []  # ranges of the unit that are open, the innermost last
    replays: dict[int, Unit] = {}
    for row in rows:
        while wrappers and row.ts >= wrappers[-1][0].ts + wrappers[-1][0].dur and row.dur >= 0:
            wrappers.pop()
        if unit is not None and row.ts >= unit.end_ns and row.ts != unit.ts_ns:
            unit = None
        if row.event is not None and row.dur == 0 and row.seq is None and row.dims is None:
            # A launch. Inside an operator it is that operator's.
            launching = unit or _lone_launch(row, thread, wrappers, units, replays)
            launching.events.append(row.event)
            launching.launched_in.append(_innermost(inside, row) if unit is not None else None)
            continue
        if unit is not None:
            if not row.is_annotation:
                _innermost(inside, row)
                inside.append(row)
                unit.inner.add(operator(row.name))
                _note_row(unit, row)
            continue
        if row.is_annotation or is_wrapper(row.name):
            wrappers.append((row, _open_run(row, wrappers, runs)))
            if row.seq is not None and row.name == "CompiledFunction":
                forward_ids[row.seq] = _region_id(wrappers)
            continue
        unit, inside = _unit(row, thread, wrappers), [row]
        unit.shapes = read_shapes(row.dims)
        unit.dtypes = _read_texts(row.types)
        unit.scalars, unit.strides = _scalars(row), read_shapes(row.strides)
        unit.lists = lists_of_shapes(row.dims, row.types)
        _note_row(unit, row)
        units.append(unit)


def _innermost(inside: list[Row], row: Row) -> Row:
    """The innermost open range that holds another range or a launch; those that ended are closed.

    The first one is the whole unit, and stays.
    """
    while len(inside) > 1 and row.ts >= inside[-1].ts + inside[-1].dur:
        inside.pop()
    return inside[-1]


def _lone_launch(
    row: Row,
    thread: tuple[int, int],
    wrappers: list[tuple[Row, int | None]],
    units: list[Unit],
    replays: dict[int, Unit],
) -> Unit:
    """The unit of a launch outside any operator; what one graph launch replays is one unit."""
    is_replay = _GRAPH_LAUNCH.match(row.name) is not None
    if is_replay and row.ts in replays:
        return replays[row.ts]
    unit = _unit(row, thread, wrappers)
    unit.is_replay = is_replay
    units.append(unit)
    if is_replay:
        replays[row.ts] = unit
    return unit


def _note_row(unit: Unit, row: Row) -> None:
    """Add what a range, or one inside it, says: sequence number, device event, arguments."""
    if row.seq is not None:
        unit.sequence_numbers.append(row.seq)
    if row.event is not None:
        unit.events.append(row.event)
        unit.launched_in.append(row)
    if operator(row.name) != unit.common:
        return
    unit.inner_dtypes = _read_texts(row.types)
    if row.name in WITH_WINDOWS:
        unit.window = WindowCall(row.name, read_shapes(row.dims), _read_texts(row.concrete))


def _unit(row: Row, thread: tuple[int, int], wrappers: list[tuple[Row, int | None]]) -> Unit:
    run = backward = None
    in_optimizer = False
    numbers: list[int] = []
    for wrapper, opened in reversed(wrappers):
        if run is None and opened is not None:
            run = opened
        if wrapper.name.startswith(BACKWARD_NODE) and backward is None:
            backward = wrapper.name[len(BACKWARD_NODE) :]
            if wrapper.seq is not None:
                numbers.append(wrapper.seq)
        in_optimizer = in_optimizer or _OPTIMIZER.match(wrapper.name) is not None
    return Unit(
        row.name, row.ts, row.ts + row.dur, thread, run, backward, in_optimizer,
        sequence_numbers=numbers,
    )  # fmt: skip


def _open_run(row: Row, wrappers: list[tuple[Row, int | None]], runs: list[GraphRun]) -> int | None:
    """A graph call opens a run. Regions nest: it is the innermost one's."""
    call = _GRAPH_CALL.match(row.name)
    if call is None:
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
        runs.append(GraphRun(compile_id, "backward", call["key"], row.ts))
    else:
        region = _region_id(wrappers)
        is_backward = is_of_compiled_autograd(region)
        runs.append(GraphRun(region, "backward" if is_backward else "forward", call["key"], row.ts))
    return len(runs) - 1


def _region_id(wrappers: list[tuple[Row, int | None]]) -> str:
    for wrapper, _ in reversed(wrappers):
        region = _REGION.match(wrapper.name)
        if region is not None:
            return region["id"] or ""
    return ""


def parts_of(unit: Unit) -> list[Unit]:
    """The calls inside a unit that launched its events, each with its own; itself, where it did.

    Of an operator with lists the one call inside it, too: its own arguments tell less; and of one
    that is computed in other types than it is handed, of what autocast keeps cast.
    """
    launchers = {id(row): row for row in unit.launched_in}
    fewest = 1 if unit.lists or _is_cast_inside(unit) else 2
    if len(launchers) < fewest or len(unit.launched_in) != len(unit.events):
        return [unit]
    parts = []
    for key, row in launchers.items():
        if row is None:
            return [unit]
        each = zip(unit.events, unit.launched_in, strict=True)
        part = Unit(
            row.name, row.ts, row.ts + row.dur, unit.thread, unit.run, unit.backward,
            unit.in_optimizer, shapes=read_shapes(row.dims), dtypes=_read_texts(row.types),
            scalars=_scalars(row), strides=read_shapes(row.strides),
            lists=lists_of_shapes(row.dims, row.types), list_item=unit.list_item,
        )  # fmt: skip
        _note_row(part, row)
        part.events = [event for event, launcher in each if id(launcher) == key]
        parts.append(part)
    return parts


def _is_cast_inside(unit: Unit) -> bool:
    """Is a tensor of another size where it is computed than where it is handed over?"""
    pairs = zip(unit.dtypes, unit.inner_dtypes, strict=False)
    items = [(ITEM_BYTES.get(own), ITEM_BYTES.get(inside)) for own, inside in pairs]
    return unit.common != "cast" and any(a and b and a != b for a, b in items)


def _scalars(row: Row) -> tuple[str, ...]:
    return _read_texts(row.concrete) if row.name in WITH_SCALARS else ()


def forward_units(step: HostStep) -> dict[int, int]:
    """Sequence number -> the forward unit that drew it.

    Each operator shows the number that the next node of autograd will get (RECORD_FUNCTION peeks
    at the counter), those without a gradient too: the last that shows it made the node.
    """
    return {
        sequence: number
        for number, unit in enumerate(step.units)
        if unit.backward is None
        for sequence in unit.sequence_numbers
    }


def read_shapes(dims: str | None) -> Shapes:
    """`Input Dims` as Kineto writes it -> one shape an argument; None for scalars and lists."""
    return _parse_dims(dims) if dims else ()


@lru_cache(maxsize=1 << 14)  # layers and steps repeat
def _parse_dims(dims: str) -> Shapes:
    return tuple(
        tuple(item)
        if isinstance(item, list) and item and all(isinstance(n, int) for n in item)
        else None
        for item in json_list(dims)
    )


@lru_cache(maxsize=1 << 14)
def _read_texts(texts: str | None) -> tuple[str, ...]:
    return tuple(map(str, json_list(texts)))
