"""Of which source line a generated call is, by the nodes that it computes."""

from collections.abc import Iterable, Mapping, Sequence

from profiler_core.analysis.ledger.fragments import nodes_of
from profiler_core.analysis.ledger.operators import KERNEL_FREE, operator
from profiler_core.analysis.ledger.ownership import own_nodes
from profiler_core.model.inductor import CompiledGraph, GraphNode


def lines_of_calls(graph: CompiledGraph) -> Mapping[int, str]:
    """Call -> `model.py:12`; calls of which no node has a line are left out.

    A library call is of its own node's line, not of the views' that it takes its inputs through; a
    kernel of that of the first node that tells.
    """
    nodes = {node.name: node for node in graph.post_nodes}
    own, given = own_nodes(graph), nodes_of(graph).given
    lines: dict[int, str] = {}
    for call in graph.calls:
        listed = (nodes[name] for name in call.post_nodes if name in nodes)
        itself = nodes.get(own.get(call.index, ""))
        telling = [itself] if itself is not None and itself.file else telling_nodes(listed, given)
        if telling:
            lines[call.index] = telling[0].source
    return lines


def telling_nodes(
    nodes: Iterable[GraphNode], given: Mapping[str, Sequence[str]]
) -> list[GraphNode]:
    """Those of some nodes that say of which lines their kernel is.

    A view moves nothing, and a constant that several lines share (`full_default`) has the line of
    the first of them: both count only where there is nothing else.

    Args:
        nodes: of a post-grad graph.
        given: node -> the tensors that it is handed.
    """
    placed = [node for node in nodes if node.file]
    computing = [
        node for node in placed if given.get(node.name) and operator(node.target) not in KERNEL_FREE
    ]
    return computing or placed
