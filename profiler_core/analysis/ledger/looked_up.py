"""What is read of tables: how many values a generated kernel looks up, and whether rows repeat."""

from collections.abc import Mapping
from math import prod

from profiler_core.analysis.ledger.graph_calls import generated_name, is_generated
from profiler_core.analysis.ledger.operators import KERNEL_FREE, operator, operators_of_kernel
from profiler_core.analysis.ledger.work_units import Unit
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, GraphNode

LOOKUPS = frozenset(("embedding", "gather", "index", "index_select", "embedding_bag"))


def looks_up(unit: Unit) -> bool:
    """Does it read rows of a table by indices, of which shapes do not say whether they repeat?"""
    if is_generated(unit.name):
        return bool(operators_of_kernel(generated_name(unit.name)) & LOOKUPS)
    return unit.common in LOOKUPS or unit.common == "embedding_backward"  # adds to its rows


def values_looked_up(graph: CompiledGraph, call: GeneratedCall) -> Mapping[str, int]:
    """Buffer of a generated kernel -> values that it looks up in it, each as often as it is read.

    Of those alone of which the nodes say it, and which nothing else in the kernel reads.
    """
    names = set(call.post_nodes)
    own = {node.name: node for node in graph.post_nodes if node.name in names}
    read: dict[str, int | None] = {}
    for node in own.values():
        kind = operator(node.target)
        if kind in KERNEL_FREE:
            continue
        for position, argument in enumerate(node.arguments):
            table = _viewed(argument, own)
            before = read.get(table, 0)
            is_table = kind in LOOKUPS and position == 0 and node.shape is not None
            is_counted = is_table and before is not None
            read[table] = (before or 0) + prod(node.shape or ()) if is_counted else None
    return {table: n for table, n in read.items() if n is not None}


def _viewed(name: str, own: Mapping[str, GraphNode]) -> str:
    """What a node shows of another one, as `expand` does."""
    while (node := own.get(name)) is not None and operator(node.target) in KERNEL_FREE:
        if not node.arguments:
            break
        name = node.arguments[0]
    return name
