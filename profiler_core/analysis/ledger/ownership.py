"""Which calls of the generated code compute a node, of all the calls whose comments name it.

Joining every call that mentions a node collapses into giant groups: one cast of a mask that twelve
layers share ties all twelve. So each post-grad node has one home, and each origin (a dynamo node,
or in a backward the graph's own node) belongs to the calls that are home to its nodes.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field

from profiler_core.analysis.ledger.dataflow import computed_nodes, ends_reduction, innermost_line
from profiler_core.analysis.ledger.operators import ANCHORS, KERNEL_FREE, operator
from profiler_core.model.inductor import CompiledGraph, GeneratedCall

_FEW = 2
OriginsOf = Callable[[str], tuple[str, ...]]


@dataclass(frozen=True)
class Ownership:
    """Origins and calls of one graph.

    Every call owns origins, follows one, or is shared; a call in none has no origin in the log.
    """

    owners: Mapping[str, tuple[int, ...]]  # origin -> indices of the calls that compute it
    follows: Mapping[int, str]  # call that owns nothing -> origin for which it works
    origins: Mapping[int, tuple[str, ...]]  # call -> the origins it owns, in order
    again: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # computed once more here
    # Call that only arranges memory for several origins at once, such as a mask of all layers.
    shared: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    # Call -> origins of a library call for which it computes a part: a softmax between products.
    served: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    # Call that follows an origin -> what it does for it, where that is known (`works_for`).
    told: Mapping[int, str] = field(default_factory=dict)


def ownership(graph: CompiledGraph) -> Ownership:
    """Decide the home of every node of a graph.

    1. A post-grad node lives in the library call that is this very operator, else in the first
       generated kernel that computes it: from which it is stored, or which stores what follows
       from it (`dataflow.py`). Only where the flow of data is not known, the first kernel that
       lists it: with a convolution's bias, each call lists all that came before it.
    2. An origin belongs to the calls that are home to its nodes. A library call among them takes
       it alone: casts and layout copies of its arguments work for it.
    3. A call that owns nothing follows the origin of what it stores, or of its first node.
    """
    own = own_nodes(graph)
    computed = computed_nodes(graph, own)
    home = _homes(graph, own, computed)
    origins_of = _origins_of(graph)
    owners = _owners(graph, own, home, origins_of)
    nodes = graph.post_nodes if graph.direction == "backward" else graph.dynamo_nodes
    order = {node.name: position for position, node in enumerate(nodes)}
    kind_of = {node.name: operator(node.target) for node in nodes}
    owned = _owned(owners, order)
    free = {name for name, kind in kind_of.items() if kind in KERNEL_FREE}
    served = _served(home, owners, origins_of, free)
    changed = {name for name, kind in kind_of.items() if kind not in KERNEL_FREE | ANCHORS}
    again = {
        index: tuple(_origins_in(changed, names, origins_of))
        for index, names in _computed_again(graph, home, computed).items()
    }
    follows: dict[int, str] = {}
    shared: dict[int, tuple[str, ...]] = {}
    for call in graph.calls:
        nodes_of = computed.get(call.index, call.post_nodes)
        listed = _origins_in(owners, nodes_of, origins_of)
        mine = owned.get(call.index, [])
        others = tuple(sorted(served.get(call.index, ()), key=lambda name: order.get(name, 0)))
        if not mine and len(others) > 1:
            shared[call.index] = others
        elif not mine and listed:
            # What it stores, where that is known, else what is listed first.
            follows[call.index] = listed[-1 if call.index in computed else 0]
        elif mine and free.issuperset(mine):
            # It only arranges memory: for one other (the product before may have its bias in
            # it), or for several at once.
            if 0 < len(others) <= _FEW:
                follows[call.index] = others[-1]
            elif others:
                shared[call.index] = others
    return Ownership(
        owners=owners,
        follows=follows,
        origins={index: tuple(names) for index, names in owned.items()},
        again=again,
        shared=shared,
        served=served,
    )


def _origins_in(wanted: Container[str], names: Iterable[str], origins_of: OriginsOf) -> list[str]:
    """Origins of some nodes, those that are wanted, each once."""
    origins = dict.fromkeys(origin for name in names for origin in origins_of(name))
    return [origin for origin in origins if origin in wanted]


def _owned(owners: Mapping[str, tuple[int, ...]], order: Mapping[str, int]) -> dict[int, list[str]]:
    """Call -> the origins that it owns, in the graph's order."""
    owned: dict[int, list[str]] = {}
    for origin in sorted(owners, key=lambda name: order.get(name, len(order))):
        for index in owners[origin]:
            owned.setdefault(index, []).append(origin)
    return owned


def _computed_again(
    graph: CompiledGraph, home: Mapping[str, int], computed: Mapping[int, tuple[str, ...]]
) -> dict[int, list[str]]:
    """Call -> nodes that it computes and whose home is another call.

    A view moves nothing, a constant is made where it is used: neither is computed a second time.
    """
    recomputable = {
        node.name
        for node in graph.post_nodes
        if node.arguments and operator(node.target) not in KERNEL_FREE | ANCHORS
    }
    return {
        call.index: [
            node
            for node in computed.get(call.index, ())
            if home.get(node, call.index) != call.index and node in recomputable
        ]
        for call in graph.calls
    }


def _is_heavy(call: GeneratedCall) -> bool:
    return call.kind in ("library", "template")


def own_nodes(graph: CompiledGraph) -> dict[int, str]:
    """Library call or template -> the one node that it is."""
    targets = {node.name: operator(node.target) for node in graph.post_nodes}
    own: dict[int, str] = {}
    taken: set[str] = set()
    nameless = []
    for call in graph.calls:
        if not _is_heavy(call) or ends_reduction(call):
            continue
        name = operator(call.name)
        wanted = ANCHORS if call.kind == "template" else (name,)
        named = next(
            (n for n in call.post_nodes if targets.get(n) in wanted and n not in taken), None
        )
        if named is None:
            nameless.append(call)
        else:
            own[call.index] = named
            taken.add(named)
    for call in nameless:
        other = _node_by_arguments(graph, call, targets, taken)
        if other is None and call.post_nodes:
            other = call.post_nodes[0]
        if other is not None:
            own[call.index] = other
            taken.add(other)
    return own


def _node_by_arguments(
    graph: CompiledGraph, call: GeneratedCall, targets: Mapping[str, str], taken: set[str]
) -> str | None:
    """The node of a library call whose comment names another one (a backward's, torch 2.11).

    It is the node of this operator that nobody else is, and that is handed the same values.
    """
    wanted = ANCHORS if call.kind == "template" else (operator(call.name),)
    given = {*call.post_nodes, *call.arguments}
    best, most = None, 0
    for node in graph.post_nodes:
        if targets[node.name] in wanted and node.name not in taken:
            common = len(given.intersection(node.arguments))
            if common > most:
                best, most = node.name, common
    return best


def _homes(
    graph: CompiledGraph, own: Mapping[int, str], computed: Mapping[int, tuple[str, ...]]
) -> dict[str, int]:
    home: dict[str, int] = {}
    for index, node in own.items():
        home.setdefault(node, index)
    for index, nodes in computed.items():
        for node in nodes:
            home.setdefault(node, index)
    for heavy in (False, True):
        for call in graph.calls:
            if _is_heavy(call) == heavy and call.index not in computed:
                for node in call.post_nodes:
                    home.setdefault(node, call.index)
    _homes_by_line(graph, own, home)
    return home


def _homes_by_line(graph: CompiledGraph, own: Mapping[int, str], home: dict[str, int]) -> None:
    """Kernels whose nodes the log does not name (C++ kernels of a backward): by source line.

    Such a kernel is home to the nodes of its stacks' lines that nobody else is; where several
    kernels have the line, to those nearest to its place among the library calls.
    """
    nameless = [call for call in graph.calls if not call.post_nodes and call.stacks]
    if not nameless:
        return
    place_of = {node.name: position for position, node in enumerate(graph.post_nodes)}
    expected: dict[int, int] = {}
    last = 0
    for call in graph.calls:
        last = place_of.get(own.get(call.index, ""), last)
        expected[call.index] = last
    by_line: dict[str, list[int]] = {}
    for call in nameless:
        for stack in call.stacks:
            if (line := innermost_line(stack)) is not None:
                by_line.setdefault(line, []).append(call.index)
    source = ""
    for position, node in enumerate(graph.post_nodes):
        source = node.source or source
        calls = by_line.get(source)
        if calls and node.name not in home and operator(node.target) not in KERNEL_FREE:
            home[node.name] = min(calls, key=lambda index: abs(expected[index] - position))


def _owners(
    graph: CompiledGraph, own: Mapping[int, str], home: Mapping[str, int], origins_of: OriginsOf
) -> dict[str, tuple[int, ...]]:
    takes: dict[str, set[int]] = {}
    for node, index in home.items():
        for origin in origins_of(node):
            takes.setdefault(origin, set()).add(index)
    heavy_of: dict[str, set[int]] = {}
    for index, node in own.items():
        if home.get(node) == index and _is_heavy(graph.calls[index]):
            for origin in origins_of(node):
                heavy_of.setdefault(origin, set()).add(index)
    return {
        origin: tuple(sorted(calls & heavy_of.get(origin, set()) or calls))
        for origin, calls in takes.items()
    }


def _served(
    home: Mapping[str, int],
    owners: Mapping[str, tuple[int, ...]],
    origins_of: OriginsOf,
    free: set[str],
) -> dict[int, tuple[str, ...]]:
    """Call -> origins of others for which it is home to a node: their casts, masks, copies."""
    served: dict[int, dict[str, None]] = {}
    for node, index in home.items():
        for origin in origins_of(node):
            if origin in owners and origin not in free and index not in owners[origin]:
                served.setdefault(index, {})[origin] = None
    return {index: tuple(origins) for index, origins in served.items()}


def _origins_of(graph: CompiledGraph) -> OriginsOf:
    """Origins of a post-grad node: dynamo nodes, or in a backward the node itself."""
    nodes = {node.name for node in graph.post_nodes}
    dynamo_names = {node.name for node in graph.dynamo_nodes}
    if graph.direction == "backward" or not dynamo_names:
        return lambda node: (node,) if node in nodes else ()
    mapping = graph.post_to_pre
    return lambda node: tuple(name for name in mapping.get(node, ()) if name in dynamo_names)
