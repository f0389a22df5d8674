"""What one compiled graph leaves in memory for the graph that runs after it: no kernel spans both.

A log does not say which result of a graph is which argument of the next, so they are told by shape
and type, and only where one result and one argument alone fit. Parameters and buffers of modules
are none: Dynamo names them by their path. A graph with a backward returns what that needs behind
its results, which are as many as its backward is handed gradients. In the backward the gradient of
what was passed on goes the other way: it is the result at the argument's place, and the tangent at
the result's. Parts of one graph that DDP cut are left out: their backwards have one compile id.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from profiler_core.analysis.graph_arguments import (
    is_of_module,
    place_of_argument,
    placeholder_of,
)
from profiler_core.analysis.ledger.buffers import memory_of
from profiler_core.analysis.ledger.operator_call import ITEM_BYTES
from profiler_core.analysis.ledger.sides import ReadSide
from profiler_core.analysis.unfused.handovers import buffer_uses, returned_values
from profiler_core.model.inductor import CompiledGraph

# `id` of both graphs, places of the call that writes and of the one that reads, bytes.
Pair = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Passed:
    """A result of one graph that is an argument of another: their places, and who handles it."""

    result: int
    argument: int
    writer: int  # places of calls
    reader: int
    size: int  # bytes


def passed_between_graphs(read: ReadSide) -> Counter[Pair]:
    """What neighbouring graphs pass on -> runs of one after the other, in all steps."""
    pairs: Counter[Pair] = Counter()
    for step, executions in zip(read.steps, read.executions, strict=True):
        graphs = [execution.graph for execution in executions]
        backward_of = _backwards(graphs)
        for first, second in pairwise(graphs):
            if (
                first is None
                or second is None
                or first.compile_id == second.compile_id
                or "backward" in (first.direction, second.direction)
            ):
                continue
            n = step.form.steps.size
            backward = backward_of.get(first.compile_id)
            for passed in _passed(first, second, backward):
                pairs[id(first), id(second), passed.writer, passed.reader, passed.size] += n
                later = backward_of.get(second.compile_id)
                gradient = _gradient(passed, later, backward) if later and backward else None
                if gradient is not None:
                    pairs[id(later), id(backward), *gradient] += n
    return pairs


def _backwards(graphs: Iterable[CompiledGraph | None]) -> dict[str, CompiledGraph]:
    """Compile id -> the one backward of it; parts that DDP cut have several of one id."""
    backwards: dict[str, list[CompiledGraph]] = {}
    for graph in graphs:
        if graph is not None and graph.direction == "backward":
            backwards.setdefault(graph.compile_id, []).append(graph)
    return {key: same[0] for key, same in backwards.items() if len({id(g) for g in same}) == 1}


def _passed(
    first: CompiledGraph, second: CompiledGraph, backward: CompiledGraph | None
) -> Iterator[_Passed]:
    results = _results(first)
    if first.direction == "forward":
        results = results[: _n_tangents(backward)]
    writers, readers = _writers(first), _readers(second)
    arguments = list(_arguments(second))
    alike = Counter(second.buffers[argument] for _, argument in arguments)
    for position, argument in arguments:
        form = second.buffers[argument]
        size = prod(form[0]) * ITEM_BYTES.get(form[1], 0)
        fitting = {
            name: number
            for number, name in reversed(list(enumerate(results)))
            if name in writers and first.buffers.get(name) == form
        }
        if len(fitting) == alike[form] == 1 and argument in readers and size:
            ((name, number),) = fitting.items()
            yield _Passed(number, position, writers[name], readers[argument], size)


def _gradient(
    passed: _Passed, later: CompiledGraph, backward: CompiledGraph
) -> tuple[int, int, int] | None:
    """Calls that write and read the gradient of what was passed on, and its bytes."""
    results, tangent = _results(later), f"tangents_{passed.result + 1}"
    name = results[passed.argument] if passed.argument < len(results) else ""
    form = backward.buffers.get(tangent)
    writers, readers = _writers(later), _readers(backward)
    if form is None or later.buffers.get(name) != form or name not in writers:
        return None
    size = prod(form[0]) * ITEM_BYTES.get(form[1], 0)
    return (writers[name], readers[tangent], size) if tangent in readers and size else None


def _n_tangents(backward: CompiledGraph | None) -> int:
    names = backward.buffers if backward is not None else ()
    return sum(name.startswith("tangents_") for name in names)


def _results(graph: CompiledGraph) -> list[str]:
    """Buffers that a graph returns, in order; "" for what is none."""
    memory = memory_of(graph.code)
    return [memory.name(name) for name in returned_values(graph.code)]


def _writers(graph: CompiledGraph) -> dict[str, int]:
    """Buffer -> the last call that writes it."""
    memory = memory_of(graph.code)
    return {
        memory.name(use.buffer): call.index
        for call in graph.calls
        for use in buffer_uses(call, graph, memory)
        if use.writes
    }


def _readers(graph: CompiledGraph) -> dict[str, int]:
    """Buffer -> the first call that reads it."""
    memory = memory_of(graph.code)
    readers: dict[str, int] = {}
    for call in graph.calls:
        for use in buffer_uses(call, graph, memory):
            if use.reads:
                readers.setdefault(memory.name(use.buffer), call.index)
    return readers


def _arguments(graph: CompiledGraph) -> Iterator[tuple[int, str]]:
    """Places and names of what a graph is handed that no module owns."""
    for name in graph.buffers:
        place, placeholder = place_of_argument(name), placeholder_of(graph, name)
        if place is not None and placeholder is not None and not is_of_module(placeholder):
            yield place, name
