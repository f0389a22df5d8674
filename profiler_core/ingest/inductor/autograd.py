"""The graphs of compiled autograd (`torch._dynamo.config.compiled_autograd`): source lines.

Its graph holds the backward graphs of AOTAutograd, inlined, and is traced as code of its own: the
nodes that Inductor lowers stand at a line of that code (`<eval_with_key>.10:316`), which binds the
name of dynamo's node (`aot0_mm_1 = torch.ops.aten.mm.default(…)`), and that has the user's line.
"""

import re
from collections.abc import Sequence

import msgspec

from profiler_core.model.inductor import GraphNode

_TRACED = "<eval_with_key>"
_BOUND = re.compile(r"(\w+) = ")


def at_users_lines(
    nodes: Sequence[GraphNode], dynamo: Sequence[GraphNode]
) -> tuple[GraphNode, ...]:
    """The nodes with the source of dynamo's node that their line binds, where that has one.

    Args:
        nodes: of the graph that Inductor lowers, or of AOTAutograd's.
        dynamo: nodes of the graph that it was made from.
    """
    by_name = {node.name: node for node in dynamo if not node.file.startswith(_TRACED)}
    return tuple(_at_users_line(node, by_name) for node in nodes)


def _at_users_line(node: GraphNode, by_name: dict[str, GraphNode]) -> GraphNode:
    bound = _BOUND.match(node.code) if node.file.startswith(_TRACED) else None
    source = by_name.get(bound[1]) if bound else None
    if source is None:
        return node
    return msgspec.structs.replace(
        node, file=source.file, line=source.line, function=source.function, code=source.code
    )
