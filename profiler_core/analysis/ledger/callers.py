"""Which line of a module's body calls the helper that a node was traced in.

`gelu` is traced in `activations.py` and attention in `sdpa_attention.py`, of which no line has a
parameter; the printed stacks of the generated calls (torch 2.9 on) say whose forward it is.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence

from msgspec import structs

from profiler_core.model.inductor import CompiledGraph, GraphNode

_Frame = tuple[str, str, int, str]  # file, function, line and its text
_FRAME = re.compile(r'File "([^"\n]+)", line (\d{1,18}), in (\S+)\n([^\n]*)')


def where_called(
    graph: CompiledGraph,
    nodes: Sequence[GraphNode],
    own: Collection[str],
    bodies: Collection[tuple[str, str]],
) -> tuple[GraphNode, ...]:
    """The nodes, with those of helpers put where the body that calls the helper stands.

    Args:
        graph: with the calls.
        nodes: of dynamo.
        own: names of those with a parameter of a module.
        bodies: (file, function) of these nodes' lines.
    """
    helpers = [
        number
        for number, node in enumerate(nodes)
        if node.name not in own and (node.file, node.function) not in bodies
    ]
    moved = list(nodes)
    stacks = _stacks(graph) if helpers else {}
    for number in helpers:
        node = nodes[number]
        chains = stacks.get((node.name, node.file, node.line))
        chains = chains or stacks.get(("", node.file, node.line), set())
        callers = {
            next((frame for frame in reversed(chain) if frame[:2] in bodies), None)
            for chain in chains
        }
        caller = callers.pop() if len(callers) == 1 else None
        if caller is not None:
            file, function, line, code = caller
            moved[number] = structs.replace(
                node, file=file, function=function, line=line, code=code
            )
    return tuple(moved)


def _stacks(graph: CompiledGraph) -> dict[tuple[str, str, int], set[tuple[_Frame, ...]]]:
    """(node or "", file, line of the innermost frame) -> the frames around it, outermost first."""
    stacks: defaultdict[tuple[str, str, int], set[tuple[_Frame, ...]]] = defaultdict(set)
    for call in graph.calls:
        for stack in call.stacks:
            frames = [
                (file, function, int(line), code.strip())
                for file, line, function, code in _FRAME.findall(stack)
            ]
            if not frames:
                continue
            file, _, line, _ = frames[-1]
            for name in ("", *call.source_nodes):
                stacks[name, file, line].add(tuple(frames[:-1]))
    return stacks
