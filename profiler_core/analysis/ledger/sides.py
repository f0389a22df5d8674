"""A run read for the ledger: its steps with their calls dealt, and which steps face which."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.ledger.alignment import align
from profiler_core.analysis.ledger.captured_units import with_captured_units
from profiler_core.analysis.ledger.graph_calls import Execution, execute
from profiler_core.analysis.ledger.modules import backward_modules, node_modules, unit_modules
from profiler_core.analysis.ledger.ownership import Ownership, ownership
from profiler_core.analysis.ledger.replays import Recording
from profiler_core.analysis.ledger.result import StepClass
from profiler_core.analysis.ledger.work_units import HostStep, HostWork, host_work
from profiler_core.analysis.ledger.works_for import works_for
from profiler_core.model.inductor import CompiledGraph, InductorLog
from profiler_core.model.trace import Trace


@dataclass(frozen=True)
class LedgerSide:
    """A run as the ledger needs it. Without a log, generated kernels go by their names."""

    trace: Trace
    log: InductorLog | None = None
    stacks: Trace | None = None  # the attribution pass: only names of modules are taken from it
    left_out: tuple[str, ...] = ()  # logs that are not the trace's, a sentence each


@dataclass(slots=True)
class ReadSide:
    """One side, read: a step of each form with its calls dealt, and where times come from."""

    steps: list[HostStep]
    n_steps: int  # of the trace: several are of one form
    executions: list[list[Execution]]  # for each form
    graph_numbers: dict[int, int]  # `id(graph)` -> its place in the log
    owned: dict[int, Ownership]
    modules: dict[int, dict[str, str]]  # `id(graph)` -> node -> path of its nn.Module
    unit_modules: list[dict[int, str]]  # for each form, from a trace with Python calls
    names: dict[int, str]  # of the rows of the work table that the steps above have
    categories: dict[int, str]
    durations: npt.NDArray[np.int64]
    total_ns: int
    n_rows: int
    has_backward: bool


def read_sides(
    baseline: LedgerSide, candidate: LedgerSide, others: Iterable[LedgerSide] = ()
) -> tuple[ReadSide, ReadSide]:
    """Both sides; either one and the others show which operators start the kernels of a replay.

    Args:
        baseline: with its log, if there is one.
        candidate: likewise.
        others: looked at only where a replay has no log.
    """
    given = (baseline, candidate)
    hosts = [_host_work(side.trace) for side in given]
    works = [_shown(side, host) for side, host in zip(given, hosts, strict=True)]
    recordings = (Recording(), Recording())
    if any(_has_unlogged_replay(side, host) for side, host in zip(given, hosts, strict=True)):
        for which, (host, work) in enumerate(zip(hosts, works, strict=True)):
            recordings[1 - which].add(host.steps, _kernels(work))
        for other in others:
            host = _host_work(other.trace)
            kernels = _kernels(_shown(other, host))
            for recording in recordings:
                recording.add(host.steps, kernels)
    return (
        _read_side(baseline, hosts[0], works[0], recordings[0]),
        _read_side(candidate, hosts[1], works[1], recordings[1]),
    )


def read_side(side: LedgerSide) -> ReadSide:
    """One side alone."""
    host = _host_work(side.trace)
    return _read_side(side, host, _shown(side, host), Recording())


def _host_work(trace: Trace) -> HostWork:
    """The steps of a trace; replayed kernels as the operators of their capture."""
    host = host_work(trace)
    with_captured_units(trace, host.steps, host_work)
    return host


def _has_unlogged_replay(side: LedgerSide, host: HostWork) -> bool:
    return side.log is None and any(unit.is_replay for step in host.steps for unit in step.units)


def _shown(side: LedgerSide, host: HostWork) -> pl.DataFrame:
    """The work table's rows of the steps that stand for the others, with categories."""
    rows = np.concatenate([np.empty(0, np.int64), *(s.form.events[0] for s in host.steps)])
    return categorise(side.trace)[rows].with_columns(event=rows)


def _kernels(shown: pl.DataFrame) -> dict[int, str]:
    """Name and grid of each row."""
    name = pl.col("name").cast(pl.String)
    kernel = pl.concat_str(name, "grid", separator=" ", ignore_nulls=True)
    return dict(shown.select("event", kernel).iter_rows())


def _read_side(
    side: LedgerSide, host: HostWork, shown: pl.DataFrame, recording: Recording
) -> ReadSide:
    """Cut the trace into steps and units, and deal each compiled run's launches to its calls."""
    work = host.work
    events = shown["event"].to_list()
    names = dict(zip(events, shown["name"].cast(pl.String), strict=True))
    kernels = _kernels(shown)
    executions = [execute(step, side.log, names, kernels, recording) for step in host.steps]
    owned: dict[int, Ownership] = {}
    modules: dict[int, dict[str, str]] = {}
    for every in executions:
        for execution in every:
            if execution.graph is not None and id(execution.graph) not in owned:
                own = ownership(execution.graph)
                told = works_for(execution.graph, own)
                owned[id(execution.graph)] = replace(own, told=told)
                modules[id(execution.graph)] = _modules(execution.graph)
    counted = work.filter(pl.col("step").is_not_null())
    return ReadSide(
        steps=host.steps,
        n_steps=host.n_steps,
        executions=executions,
        graph_numbers={id(graph): n for n, graph in enumerate(side.log.graphs if side.log else ())},
        owned=owned,
        modules=modules,
        unit_modules=_unit_modules(side, host.steps),
        names=names,
        categories=dict(zip(events, shown["category"].cast(pl.String), strict=True)),
        durations=work["dur_ns"].to_numpy(),
        total_ns=int(counted["dur_ns"].sum()),
        n_rows=work.height,
        has_backward=any(unit.backward for step in host.steps for unit in step.units),
    )


def _unit_modules(side: LedgerSide, steps: list[HostStep]) -> list[dict[int, str]]:
    """Modules of units by the trace's own Python calls, else by those of the attribution pass.

    That pass ran the same program, so its units face the trace's in order, by name.
    """
    own = unit_modules(side.trace, steps)
    if side.stacks is None or any(own):
        return own
    other = host_work(side.stacks).steps
    named = unit_modules(side.stacks, other)
    number = next((number for number, modules in enumerate(named) if modules), None)
    if number is None:
        return own
    step, modules = other[number], named[number]
    theirs = [(number, unit.name) for number, unit in enumerate(step.units) if unit.events]
    modules_of_steps = []
    for mine_step in steps:
        mine = [(number, unit.name) for number, unit in enumerate(mine_step.units) if unit.events]
        pairs = align(
            [name for _, name in mine], [name for _, name in theirs], lambda a, b: int(a == b)
        )
        faced = ((mine[i][0], theirs[j][0]) for i, j in pairs)
        modules_of_steps.append({ours: modules[its] for ours, its in faced if its in modules})
    return modules_of_steps


def _modules(graph: CompiledGraph) -> dict[str, str]:
    modules = node_modules(graph)
    return backward_modules(graph, modules) if graph.direction == "backward" else modules


def step_classes(sides: tuple[ReadSide, ReadSide]) -> list[StepClass]:
    """Which steps face each other.

    With one sequence on either side, all face all. Otherwise step i faces step i (both cycle
    through the same inputs), and pairs of equal sequences are one class; steps that are left
    over join a class that already has their sequence, else stand alone.
    """
    kinds = [_sequences(side) for side in sides]
    if all(len(set(kind)) <= 1 for kind in kinds):
        return [StepClass(tuple(range(len(kinds[0]))), tuple(range(len(kinds[1]))))]
    classes: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
    paired = min(len(kinds[0]), len(kinds[1]))
    for index in range(paired):
        left, right = classes.setdefault((kinds[0][index], kinds[1][index]), ([], []))
        left.append(index)
        right.append(index)
    for side in (0, 1):
        for index in range(paired, len(kinds[side])):
            step_class = next((c for c in classes if c[side] == kinds[side][index]), None)
            if step_class is None:
                step_class = (kinds[0][index], 0) if side == 0 else (0, kinds[1][index])
                classes.setdefault(step_class, ([], []))
            classes[step_class][side].append(index)
    return [StepClass(tuple(a), tuple(b)) for a, b in classes.values()]


def _sequences(side: ReadSide) -> list[int]:
    """The sequence of each step, which is that of its form."""
    kinds = [0] * side.n_steps
    for step in side.steps:
        kind = _sequence(step)
        for number in step.form.steps.tolist():
            kinds[number] = kind
    return kinds


def _sequence(step: HostStep) -> int:
    return hash(tuple((unit.name, unit.call, unit.run) for unit in step.units if unit.events))
