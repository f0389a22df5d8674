"""Which calls of the generated code launch which kernel in the profiled steps."""

from collections.abc import Callable, Mapping

from profiler_core.analysis.dossier.generated import calls_of_kernel
from profiler_core.analysis.ledger.sides import LedgerSide, read_side
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, InductorLog

# Name of a generated kernel -> (place of the graph in the log, of the call in the graph).
Launching = Mapping[str, frozenset[tuple[int, int]]]


def calls_in_steps(
    log: InductorLog, name: str, launching: Callable[[], Launching]
) -> list[tuple[CompiledGraph, GeneratedCall]]:
    """The calls of a generated kernel, of the graphs that launch it in the profiled steps.

    A function that was compiled again has a graph each time, often with kernels of one name, and
    the steps may enter the last alone.

    Args:
        log: of the run.
        name: of the kernel in the trace.
        launching: asked where several graphs have the kernel; where it says nothing, all count.
    """
    calls = calls_of_kernel(log, name)
    if len({id(graph) for graph, _ in calls}) < 2:
        return calls
    entered = launching().get(name, frozenset())
    places = {id(graph): place for place, graph in enumerate(log.graphs)}
    launched = [
        (graph, call) for graph, call in calls if (places[id(graph)], call.index) in entered
    ]
    return launched or calls


def launching_calls(side: LedgerSide) -> Launching:
    """The calls behind the launches of a trace, by the compiled regions that they lie in."""
    read = read_side(side)
    calls: dict[str, set[tuple[int, int]]] = {}
    for executions in read.executions:
        for execution in executions:
            graph = execution.graph
            if graph is None or id(graph) not in read.graph_numbers:
                continue
            for call, units in execution.units_of_call.items():
                if units:
                    place = (read.graph_numbers[id(graph)], call)
                    calls.setdefault(graph.calls[call].name, set()).add(place)
    return {name: frozenset(places) for name, places in calls.items()}
