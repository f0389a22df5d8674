"""A graph's nodes in program order as items of a program, each with the units that compute it."""

from collections.abc import Iterator, Mapping, Sequence

from profiler_core.analysis.ledger.engines import OPAQUE
from profiler_core.analysis.ledger.extents import Shape, product_extent
from profiler_core.analysis.ledger.graph_calls import Execution, is_generated
from profiler_core.analysis.ledger.operators import (
    KERNEL_FREE,
    is_specific,
    operator,
    operators_of_kernel,
)
from profiler_core.analysis.ledger.ownership import Ownership
from profiler_core.analysis.ledger.program import Item
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, GraphNode


def graph_items(
    execution: Execution,
    graph: CompiledGraph,
    owned: Ownership,
    ties: list[tuple[int, int]],
    notes: dict[int, list[str]],
) -> list[Item]:
    """The graph's nodes in program order, each with its units; ties of the rest are added."""
    units_of = execution.units_of_call
    nodes = _program_order(graph)
    shapes = {name: shape for name, (shape, _) in graph.buffers.items()}
    shapes.update({node.name: node.shape for node in nodes if node.shape is not None})
    became = _became(graph)
    first_unit: dict[str, int] = {}
    items = []
    source, code = "", ""
    for node in nodes:
        if node.source or graph.direction != "backward":
            source, code = node.source, node.code  # a backward's nameless node goes with the last
        calls = owned.owners.get(node.name, ())
        units = tuple(dict.fromkeys(u for call in calls for u in units_of.get(call, ())))
        if units:
            first_unit[node.name] = units[0]
            ties.extend((units[0], other) for other in units[1:])
        common = operator(node.target)
        if common in KERNEL_FREE and not units and graph.direction != "forward":
            continue
        item = _node_item(node, common, _given_shapes(node, shapes))
        item.inner = became.get(node.name, frozenset())
        item.units, item.run, item.code = units, execution.run, code
        item.labels = frozenset((source,)) if source else frozenset()
        item.is_part = _is_part(common, [graph.calls[call].name for call in calls])
        item.part_of = _part_of(common, [graph.calls[call] for call in calls])
        items.append(item)
    _tie_calls(graph, owned, units_of, first_unit, ties)
    for call, numbers in units_of.items():
        for note in _notes(graph, owned, call):
            notes.setdefault(numbers[0], []).append(note)
    items.extend(_stray_item(stray) for stray in execution.strays)
    return items


def _node_item(node: GraphNode, common: str, given: tuple[Shape, ...]) -> Item:
    """A node, for now without what computes it."""
    return Item(
        op=common,
        inner=frozenset(),
        units=(),
        extent=product_extent(node.target, given) if common == "matmul" else None,
        shapes=given,
        node=node.name,
        output=_output(node),
    )


def _is_part(common: str, calls: Sequence[str]) -> bool:
    """Are generated kernels named after other operators all that computes it?

    Inductor names a kernel after the operators of before decomposition: the sums of a layer norm's
    backward are in kernels named native_layer_norm_backward.
    """
    names = [operators_of_kernel(call) for call in calls if is_generated(call)]
    return bool(names) and len(names) == len(calls) and not any(common in name for name in names)


def _part_of(common: str, calls: Sequence[GeneratedCall]) -> frozenset[str]:
    """The operators of before decomposition that the comments above a node's kernels name.

    Empty where the node stands among them itself, and where a call has no comment.
    """
    named = [frozenset(map(operator, call.original_aten)) - KERNEL_FREE for call in calls]
    if not all(named) or any(common in names for names in named):
        return frozenset()
    return frozenset().union(*named)


def _tie_calls(
    graph: CompiledGraph,
    owned: Ownership,
    units_of: Mapping[int, Sequence[int]],
    first_unit: Mapping[str, int],
    ties: list[tuple[int, int]],
) -> None:
    """Tie the units of one call to each other, and those of a call that works for a node to it."""
    for call, numbers in units_of.items():
        ties.extend((numbers[0], other) for other in numbers[1:])
        target = owned.follows.get(call)
        if target is not None and target in first_unit:
            ties.append((numbers[0], first_unit[target]))
        elif target is None and call not in owned.origins and call not in owned.shared:
            _follow_data(graph, call, units_of, ties)


def _given_shapes(node: GraphNode, shapes: Mapping[str, Shape]) -> tuple[Shape, ...]:
    """Shapes of the tensors that a node is handed, in ATen's order."""
    given = tuple(shape for name in node.arguments if (shape := shapes.get(name)) is not None)
    if node.target.endswith("functional.embedding"):
        # Python hands over the rows first, ATen the table, whose shape need not be printed.
        return given[1::-1] if len(given) > 1 else ()
    return given


def _notes(graph: CompiledGraph, owned: Ownership, call: int) -> Iterator[str]:
    """What a call does besides, a clause each."""
    if graph.calls[call].kind == "engine":
        yield OPAQUE
    if call in owned.told:
        yield owned.told[call]
    for origin in owned.again.get(call, ())[:3] if call in owned.origins else ():
        yield f"computes {origin} again"


def _output(node: GraphNode) -> tuple[tuple[int, ...], str] | None:
    return (node.shape, node.dtype) if node.shape is not None and node.dtype else None


def _stray_item(number: int) -> Item:
    return Item(op="", inner=frozenset(), units=(number,), unit=number)


def _follow_data(
    graph: CompiledGraph,
    call: int,
    units_of: Mapping[int, Sequence[int]],
    ties: list[tuple[int, int]],
) -> None:
    """A call without any node works for the next call that is handed one of its buffers."""
    own = graph.calls[call]
    mine = {name for name in (*own.arguments, own.result) if name.startswith("buf")}
    for later in graph.calls[call + 1 :]:
        if mine & set(later.arguments) and units_of.get(later.index):
            ties.append((units_of[call][0], units_of[later.index][0]))
            return


def _became(graph: CompiledGraph) -> dict[str, frozenset[str]]:
    """Origin -> the specific ATen operators that it was lowered to."""
    if graph.direction == "backward":
        return {}
    targets = {node.name: operator(node.target) for node in graph.post_nodes}
    became: dict[str, set[str]] = {}
    for node, origins in graph.post_to_pre.items():
        common = targets.get(node)
        if common is not None and is_specific(common):
            for origin in origins:
                became.setdefault(origin, set()).add(common)
    return {origin: frozenset(names) for origin, names in became.items()}


def _program_order(graph: CompiledGraph) -> Sequence[GraphNode]:
    """Dynamo's nodes; in a backward the graph's own, in the order in which the engine made them."""
    if graph.direction != "backward" and graph.dynamo_nodes:
        return graph.dynamo_nodes
    order = {node.name: number for number, node in enumerate(graph.aot_nodes)}
    ranked = []
    last = -1
    for number, node in enumerate(graph.post_nodes):
        last = order.get(node.name, last)
        ranked.append((last, number, node))
    ranked.sort(key=lambda entry: entry[:2])
    return [node for _, _, node in ranked]
