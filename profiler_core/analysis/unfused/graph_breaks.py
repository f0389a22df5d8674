"""What one compiled graph leaves in memory for the graph that runs after it: no kernel spans both.

A log does not say which result of a graph is which argument of the next, so they are told by shape
and type, and only where one result alone fits. Parameters and buffers of modules are none: Dynamo
names them by their path. A graph with a backward returns what that needs too, and is left out.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from math import prod

from profiler_core.analysis.ledger.buffers import memory_of
from profiler_core.analysis.ledger.bytes_moved import ITEM_BYTES
from profiler_core.analysis.ledger.sides import ReadSide
from profiler_core.analysis.unfused.handovers import buffer_uses, returned_names
from profiler_core.model.inductor import CompiledGraph

_OF_MODULE = re.compile(r"_(?:parameters|buffers)_")
_ARGUMENT = re.compile(r"^(?:arg(?P<inference>\d+)_1|primals_(?P<training>\d+))$")

# `id` of both graphs, places of the call that writes and of the one that reads, bytes.
Pair = tuple[int, int, int, int, int]


def passed_between_graphs(read: ReadSide) -> Counter[Pair]:
    """What neighbouring graphs pass on -> runs of one after the other, in all steps."""
    pairs: Counter[Pair] = Counter()
    for step, executions in zip(read.steps, read.executions, strict=True):
        for first, second in pairwise([execution.graph for execution in executions]):
            if not (first and second and first.direction == second.direction == "inference"):
                continue
            for passed in _passed(first, second):
                pairs[passed] += step.form.steps.size
    return pairs


def _passed(first: CompiledGraph, second: CompiledGraph) -> Iterator[Pair]:
    memory = memory_of(first.code)
    results = {memory.name(name) for name in returned_names(first.code)}
    writers = {
        memory.name(use.buffer): call.index
        for call in first.calls
        for use in buffer_uses(call, first, memory)
        if use.writes
    }
    memory = memory_of(second.code)
    readers: dict[str, int] = {}
    for call in second.calls:
        for use in buffer_uses(call, second, memory):
            if use.reads:
                readers.setdefault(memory.name(use.buffer), call.index)
    for argument in _arguments(second):
        shape, dtype = second.buffers[argument]
        fitting = [n for n in results & writers.keys() if first.buffers.get(n) == (shape, dtype)]
        size = prod(shape) * ITEM_BYTES.get(dtype, 0)
        if len(fitting) == 1 and argument in readers and size:
            yield id(first), id(second), writers[fitting[0]], readers[argument], size


def _arguments(graph: CompiledGraph) -> Iterator[str]:
    """Names of what a graph is handed that no module owns."""
    for name in graph.buffers:
        match = _ARGUMENT.match(name)
        if match is None:
            continue
        place = int(match["inference"] or 0) if match["inference"] else int(match["training"]) - 1
        if place < len(graph.placeholders) and not _OF_MODULE.search(graph.placeholders[place]):
            yield name
