"""Engines: calls that run a whole part of a graph inside a library of their own (openvino, XLA).

The capture puts an operator `engine::<backend>` around each (capture/child/engine_calls.py). What
an engine does inside is not in the trace, so all of a graph that PyTorch did not run itself is one
call, opaque: what it replaced is known from dynamo's graph, how its time divides is not.
"""

from collections.abc import Sequence

import msgspec

from profiler_core.analysis.engines import is_engine
from profiler_core.analysis.ledger.alignment import align
from profiler_core.analysis.ledger.operators import KERNEL_FREE, operator
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, GraphNode

OPAQUE = "opaque: what the engine does inside is not in the trace"


def engine_graph(
    graph: CompiledGraph, pieces: Sequence[str]
) -> tuple[CompiledGraph, list[int | None]]:
    """The graph with one call for the engine, and one for each operator that PyTorch ran itself.

    An operator that stands beside the engine in the trace is the next node of its name; every
    other node is the engine's.

    Args:
        graph: as logged; its nodes are dynamo's, in a backward AOTAutograd's own.
        pieces: names of the operators of one run in order, the engine's among them.

    Returns:
        The graph, and the call of each piece: None for an operator that is no node.
    """
    is_backward = graph.direction == "backward"
    nodes = graph.aot_nodes if is_backward else graph.dynamo_nodes
    beside = [position for position, name in enumerate(pieces) if not is_engine(name)]
    taken = _taken([pieces[position] for position in beside], nodes)
    engine = next(name for name in pieces if is_engine(name))
    call_of: list[int | None] = [0 if is_engine(name) else None for name in pieces]
    calls = [
        GeneratedCall(
            index=0,
            name=engine,
            kind="engine",
            line=0,
            post_nodes=tuple(n.name for n in nodes if n.name not in taken.values()),
        )
    ]
    for number, node in sorted(taken.items()):
        position = beside[number]
        call_of[position] = len(calls)
        calls.append(
            GeneratedCall(
                index=len(calls),
                name=pieces[position],
                kind="library",
                line=0,
                post_nodes=(node,),
            )
        )
    dealt = msgspec.structs.replace(
        graph,
        calls=tuple(calls),
        post_nodes=nodes,
        post_to_pre={} if is_backward else {node.name: (node.name,) for node in nodes},
    )
    return dealt, call_of


def _taken(beside: Sequence[str], nodes: Sequence[GraphNode]) -> dict[int, str]:
    """Place of an operator beside the engine -> the node that it is."""
    names = [operator(name) for name in beside]
    targets = [operator(node.target) for node in nodes]
    pairs = align(names, targets, lambda a, b: int(a == b and a not in KERNEL_FREE))
    return {position: nodes[number].name for position, number in pairs}
