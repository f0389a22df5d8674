"""What each call of the generated code computes: what it stores, by the flow of data.

Inductor's list of nodes beside a call says which nodes went into it, and it is too long: a kernel
that writes a mask is listed with the attention of all layers that take the mask, the second half
of a split reduction with everything that the first half computed. So a node counts as computed by
a call only if it follows from what the call is handed (buffers, arguments, constants), and if what
the call stores follows from it. What is stored is named by the `return` of the kernel's printed
fragment (torch 2.9 on, `fragments.py`), or by the library call that takes the buffer; else it is
what no other node of the call takes. What a kernel adds to by atomics (`index_put`,
`embedding_backward`) is computed by it and by the kernel that filled the buffer before.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from profiler_core.analysis.ledger.buffers import NO_BUFFER, Memory, memory_of
from profiler_core.analysis.ledger.fragments import (
    Definition,
    GraphNodes,
    definition_of,
    nodes_of,
    translated,
)
from profiler_core.analysis.ledger.operators import operator
from profiler_core.analysis.memory.frames import place
from profiler_core.model.inductor import CompiledGraph, GeneratedCall

_FRAME = re.compile(r'File "([^"]+)", line (\d{1,18})(?!\d)')


def computed_nodes(graph: CompiledGraph, library: Mapping[int, str]) -> dict[int, tuple[str, ...]]:
    """Generated call -> the nodes that it computes, the stored ones last, in the graph's order.

    Args:
        graph: a generated module with its post-grad graph.
        library: library call or template -> the one node that it is.

    Calls whose nodes do not follow from what they are handed are left out: nothing is known.
    """
    flow = _Flow.of(graph, library)
    for call in graph.calls:
        buffers = [flow.memory.name(a) for a in call.arguments if a not in NO_BUFFER]
        if call.kind in ("triton", "cpp"):
            _follow_kernel(flow, call, buffers)
        else:
            made = frozenset((library[call.index],) if call.index in library else ())
            if ended := _ended(call, buffers, flow.memory, flow.nodes):
                made, flow.computed[call.index] = frozenset(ended), ended
            last = buffers[-1] if buffers else ""
            result = flow.memory.name(call.result) if call.result else last
            flow.memory.held[result] = made | flow.memory.held.get(result, frozenset())
    return flow.computed | flow.filling


@dataclass(slots=True)
class _Flow:
    """A graph while its calls are followed in order."""

    graph: CompiledGraph
    nodes: GraphNodes
    memory: Memory
    taken_as: dict[str, str]  # buffer -> the node as which a library call takes it
    of_libraries: frozenset[str]
    adding: Sequence["_Adding"]
    # Kernel -> placeholder -> argument's place, of its first call.
    first_calls: dict[str, Mapping[str, int]] = field(default_factory=dict)
    computed: dict[int, tuple[str, ...]] = field(default_factory=dict)
    # Call -> what a later kernel adds to its result.
    filling: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: CompiledGraph, library: Mapping[int, str]) -> "_Flow":
        """Before the first call."""
        nodes, memory = nodes_of(graph), memory_of(graph.code)
        taken_as = _taken_as(graph.calls, library, nodes.given, memory)
        adding = _adding_calls(graph, memory)
        return cls(graph, nodes, memory, taken_as, frozenset(library.values()), adding)

    def listed(self, call: GeneratedCall) -> list[str]:
        """The nodes that a kernel may compute, in the graph's order."""
        is_cpp = call.kind == "cpp"
        names = _of_cpp_kernel(call, self.graph, self.nodes, self.computed) if is_cpp else None
        candidates = call.post_nodes if names is None else names
        order = self.nodes.place
        return sorted(
            (n for n in candidates if n in order and n not in self.of_libraries),
            key=order.__getitem__,
        )


def _follow_kernel(flow: _Flow, call: GeneratedCall, buffers: Sequence[str]) -> None:
    """Note what a generated kernel computes, and what its buffers hold behind it."""
    nodes, memory = flow.nodes, flow.memory
    printed = flow.graph.kernels.get(call.name)
    definition = definition_of(printed.source if printed is not None else "")
    contents = [memory.content(buffer) for buffer in buffers]
    written = [buffers[i] for i in definition.written if i < len(buffers)]
    listed = flow.listed(call)
    added_to = _added_to(definition, contents, listed, nodes.given)
    ready = frozenset(name for content in contents for name in content) - added_to
    able, constant = _able(listed, ready, flow.of_libraries, nodes.given)
    able |= added_to
    named = _returned(call.name, definition, listed, contents, nodes, flow.first_calls)
    able |= _by_shape(named - ready, able | ready, nodes)
    named |= {
        nodes.looked_through(flow.taken_as[buffer], listed)
        for buffer in written
        if buffer in flow.taken_as
    } | added_to
    if call.kind == "cpp" and len(named) < len(set(written)):  # without a printed fragment
        named |= _used_elsewhere(able - constant, able, nodes.users)
    stored = _stored(named & able, able, constant, nodes.users, len(set(written)))
    mine = _leading_to(stored, able, ready, nodes.given)
    sums = _added_later(flow.adding, call.index, set(written), mine, nodes.given)
    if sums is not None and not mine:
        mine = stored = named.intersection(listed) or set(listed[-1:])
    elif sums and mine <= constant and not _used_elsewhere(mine, sums, nodes.users):
        flow.filling[call.index] = tuple(sorted(sums, key=nodes.place.__getitem__))
        mine = set()
    if mine:
        flow.computed[call.index] = _stored_last(mine, stored, nodes.place)
    for buffer in written:
        memory.held[buffer] = memory.content(buffer) | stored


def _by_shape(returned: Iterable[str], candidates: Collection[str], nodes: GraphNodes) -> set[str]:
    """Those of the nodes that a kernel returns that follow from some of what they are given.

    Of the rest it needs the shape alone, as a pooling's backward does of the pooling's input.
    """
    return {name for name in returned if any(given in candidates for given in nodes.given[name])}


def _added_to(
    definition: Definition,
    contents: Sequence[frozenset[str]],
    listed: Sequence[str],
    given: Mapping[str, tuple[str, ...]],
) -> set[str]:
    """The nodes that a kernel makes by adding to what is there already."""
    added = [contents[position] for position in definition.added if position < len(contents)]
    return {name for content in added for name in _sums(content, listed, given)}


def _used_elsewhere(
    names: Iterable[str], within: set[str], users: Mapping[str, set[str]]
) -> set[str]:
    """Those of some nodes that a node beyond `within` takes."""
    return {name for name in names if users.get(name, within) - within}


def _stored_last(
    names: Iterable[str], stored: set[str], order: Mapping[str, int]
) -> tuple[str, ...]:
    """Nodes in the graph's order, those that are stored behind the others."""
    return tuple(sorted(names, key=lambda name: (name in stored, order[name])))


def _of_cpp_kernel(
    call: GeneratedCall,
    graph: CompiledGraph,
    nodes: GraphNodes,
    computed: Mapping[int, tuple[str, ...]],
) -> Collection[str]:
    """The nodes that a C++ kernel may compute, for which no comment lists them all.

    Its list lacks what lies between others, such as the parts of a split. In a backward there is
    none: there it is what has one of its source lines, and no call before it computes.
    """
    if call.post_nodes:
        behind, before = set(call.post_nodes), set(call.post_nodes)
        for node in graph.post_nodes:
            if behind.intersection(nodes.given[node.name]):
                behind.add(node.name)
        for node in reversed(graph.post_nodes):
            if before.intersection(nodes.users.get(node.name, ())):
                before.add(node.name)
        return behind & before
    lines = {innermost_line(stack) for stack in call.stacks}
    done = {name for names in computed.values() for name in names}
    listed, source = [], ""
    for node in graph.post_nodes:
        source = node.source or source  # a nameless node goes with the last
        if node.name not in done and (source in lines or not lines):
            listed.append(node.name)
    return listed


def innermost_line(stack: str) -> str | None:
    """`file.py:84` of the last frame of a printed stack."""
    frames = _FRAME.findall(stack)
    return place(*frames[-1]) if frames else None


def ends_reduction(call: GeneratedCall) -> bool:
    """Does it only add up what a kernel left in parts?"""
    return bool(call.arguments) and call.arguments[0].startswith("workspace")


def _ended(
    call: GeneratedCall, buffers: Sequence[str], memory: Memory, nodes: GraphNodes
) -> tuple[str, ...]:
    """The reductions that a kernel left in parts in a workspace, which this library call ends.

    Such a call has no comment of its own, and ends one of them: which, nothing says.
    """
    if not ends_reduction(call):
        return ()
    wanted = operator(call.name)
    ended = [
        n
        for n in memory.content(buffers[0])
        if operator(nodes.targets.get(n, "")) == wanted
    ]  # fmt: skip
    return tuple(sorted(ended, key=nodes.place.__getitem__))


def _sums(
    content: frozenset[str], listed: Sequence[str], given: Mapping[str, tuple[str, ...]]
) -> set[str]:
    """The nodes that adding to a buffer makes: `index_put` into what fills it, or that node."""
    sums = {node for node in listed if content.intersection(given[node][:1])}
    return sums or set(content.intersection(listed))


@dataclass(frozen=True, slots=True)
class _Adding:
    """A call whose kernel adds to buffers, and the nodes that it is listed with."""

    index: int
    buffers: frozenset[str]
    listed: tuple[str, ...]


def _adding_calls(graph: CompiledGraph, memory: Memory) -> list[_Adding]:
    adding = []
    for call in graph.calls:
        printed = graph.kernels.get(call.name)
        if printed is not None and "atomic_add" in printed.source:
            given = [memory.name(a) for a in call.arguments if a not in NO_BUFFER]
            added = definition_of(printed.source).added
            buffers = frozenset(given[position] for position in added if position < len(given))
            adding.append(_Adding(call.index, buffers, call.post_nodes))
    return adding


def _added_later(
    adding: Sequence[_Adding],
    index: int,
    buffers: set[str],
    stored: set[str],
    given: Mapping[str, tuple[str, ...]],
) -> set[str] | None:
    """The nodes of the first later kernel that adds to what this one fills; None: none does.

    They are those that take what is stored; empty where its list does not name them.
    """
    for call in adding:
        if call.index > index and buffers & call.buffers:
            return {n for n in call.listed if stored.intersection(given.get(n, ())[:1])}
    return None


def _stored(
    named: set[str],
    able: set[str],
    constant: set[str],
    users: Mapping[str, set[str]],
    n_written: int,
) -> set[str]:
    """What is named as stored; where that is less than is written, what no other node takes."""
    if len(named) >= n_written:
        return named
    last = {n for n in able if not users.get(n, set()) & able}
    return named | ((last - constant) or last)


def _taken_as(
    calls: Sequence[GeneratedCall],
    library: Mapping[int, str],
    nodes: Mapping[str, tuple[str, ...]],
    memory: Memory,
) -> dict[str, str]:
    """Buffer -> the node as which a library call takes it, by its place among the arguments."""
    taken: dict[str, str] = {}
    for call in calls:
        arguments = nodes.get(library.get(call.index, ""), ())
        given = [a for a in call.arguments if a not in NO_BUFFER and a[:3] in ("buf", "arg", "pri")]
        for buffer, argument in zip(given, arguments, strict=False):
            if buffer.startswith("buf"):
                taken.setdefault(memory.name(buffer), argument)
    return taken


def _returned(
    kernel: str,
    definition: Definition,
    listed: Sequence[str],
    contents: Sequence[frozenset[str]],
    nodes: GraphNodes,
    first_calls: dict[str, Mapping[str, int]],
) -> set[str]:
    """What the kernel's printed fragment returns, in the words of one of its calls."""
    if not definition.returned:
        return set()
    first_calls.setdefault(kernel, definition.places(contents))
    own = {node.name for node in definition.nodes if node.target}
    wanted = [nodes.looked_through(name, listed) for name in definition.returned if name in own]
    if own.issuperset(wanted) and set(wanted) <= set(listed):
        return set(wanted)
    names = translated(definition, first_calls[kernel], contents, nodes)
    fitting = [names[name].intersection(listed) for name in wanted]
    return {next(iter(few)) for few in fitting if len(few) == 1}


def _able(
    listed: Sequence[str],
    ready: frozenset[str],
    of_libraries: frozenset[str],
    nodes: Mapping[str, tuple[str, ...]],
) -> tuple[set[str], set[str]]:
    """The listed nodes that follow from what the call is handed, and those made of constants.

    A second half of a split reduction is handed what is called by its node already: where nothing
    else that it is handed goes into any node, such a node is its own.
    """
    follows: dict[str, tuple[bool, bool]] = dict.fromkeys(ready, (True, True))
    for name in listed:
        _follow(name, follows, of_libraries, nodes)
    able = {n for n in listed if n not in ready and follows[n][0]}
    again = {n for n in listed if n in ready}
    if again and not any(follows[n][1] for n in able):
        return again, set()
    return able, {n for n in able if not follows[n][1]}


def _follow(
    name: str,
    follows: dict[str, tuple[bool, bool]],
    of_libraries: frozenset[str],
    nodes: Mapping[str, tuple[str, ...]],
) -> None:
    """Fill in: does a node follow, and from more than constants? By a stack: graphs are deep.

    Each node is handed earlier ones alone, so there is no circle.
    """
    stack = [name]
    while stack:
        current = stack[-1]
        arguments = nodes.get(current)
        if current in follows:
            stack.pop()
        elif arguments is None or current in of_libraries:
            follows[current] = (False, False)
        else:
            unknown = [a for a in arguments if a not in follows]
            if unknown:
                stack += unknown
                continue
            of_arguments = [follows.get(a, (False, False)) for a in arguments]
            follows[current] = (all(k[0] for k in of_arguments), any(k[1] for k in of_arguments))


def _leading_to(
    stored: Iterable[str],
    able: set[str],
    ready: frozenset[str],
    nodes: Mapping[str, tuple[str, ...]],
) -> set[str]:
    reached: set[str] = set()
    stack = list(stored)
    while stack:
        name = stack.pop()
        if name not in reached:
            reached.add(name)
            stack += [a for a in nodes[name] if a in nodes and a not in ready]
    return reached & able
