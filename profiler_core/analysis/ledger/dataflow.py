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
from dataclasses import dataclass

from profiler_core.analysis.ledger.fragments import Definition, definition_of, translated
from profiler_core.analysis.ledger.operators import operator
from profiler_core.model.inductor import CompiledGraph, GeneratedCall

_REUSED = re.compile(r"^\s*(?P<new>\w+) = (?P<old>\w+); del \w+\s*# reuse")
_RENAMED = re.compile(
    r"^\s*(?P<new>\w+) = (?:reinterpret_tensor\()?(?P<old>\w+)(?:\[\d+\])?"
    r"(?:,.*\))?(?:;.*)?\s*(?:#.*)?$"
)
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
NO_BUFFER = frozenset(("reinterpret_tensor", "stream", "stream0", "out"))


@dataclass(slots=True)
class Memory:
    """Which names are one buffer, and which nodes a buffer holds."""

    same: dict[str, str]  # a view or an item -> what it is of
    took_over: dict[str, str]  # buffer -> the one whose memory and content it has
    held: dict[str, frozenset[str]]

    def name(self, buffer: str) -> str:
        """The buffer itself, where a name is a view of it."""
        while buffer in self.same:
            buffer = self.same[buffer]
        return buffer

    def content(self, buffer: str) -> frozenset[str]:
        """Nodes in a buffer, by their names; an argument of the graph is a node itself."""
        seen = set()
        while buffer not in self.held and buffer in self.took_over and buffer not in seen:
            seen.add(buffer)
            buffer = self.name(self.took_over[buffer])
        return self.held.get(buffer, frozenset()) | {buffer}


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The post-grad graph as the flow of data needs it."""

    place: Mapping[str, int]  # node -> its place in the graph
    given: Mapping[str, tuple[str, ...]]  # node -> the tensors that it is handed
    users: Mapping[str, set[str]]
    targets: Mapping[str, str]
    of_target: Mapping[str, set[str]]


def _nodes(graph: CompiledGraph) -> _Nodes:
    place = {node.name: number for number, node in enumerate(graph.post_nodes)}
    given = {  # a later node's name is a keyword's here
        node.name: tuple(
            a for a in node.arguments if place.get(a, -1 if a in graph.buffers else number) < number
        )
        for number, node in enumerate(graph.post_nodes)
    }
    users: dict[str, set[str]] = {}
    for name, arguments in given.items():
        for argument in arguments:
            users.setdefault(argument, set()).add(name)
    targets = {node.name: node.target for node in graph.post_nodes}
    of_target: dict[str, set[str]] = {}
    for name, target in targets.items():
        of_target.setdefault(target, set()).add(name)
    return _Nodes(place, given, users, targets, of_target)


def computed_nodes(graph: CompiledGraph, library: Mapping[int, str]) -> dict[int, tuple[str, ...]]:
    """Generated call -> the nodes that it computes, the stored ones last, in the graph's order.

    Args:
        graph: a generated module with its post-grad graph.
        library: library call or template -> the one node that it is.

    Calls whose nodes do not follow from what they are handed are left out: nothing is known.
    """
    nodes = _nodes(graph)
    memory = memory_of(graph.code)
    taken_as = _taken_as(graph.calls, library, nodes.given, memory)
    of_libraries = frozenset(library.values())
    first_calls: dict[str, Mapping[str, int]] = {}  # kernel -> placeholder -> argument's place
    adding = _adding_calls(graph, memory)
    computed: dict[int, tuple[str, ...]] = {}
    filling: dict[int, tuple[str, ...]] = {}  # call -> what a later kernel adds to its result
    for call in graph.calls:
        buffers = [memory.name(a) for a in call.arguments if a not in NO_BUFFER]
        if call.kind not in ("triton", "cpp"):
            made = frozenset((library[call.index],) if call.index in library else ())
            if ended := _ended(call, buffers, memory, nodes):
                made, computed[call.index] = frozenset(ended), ended
            result = memory.name(call.result) if call.result else buffers[-1] if buffers else ""
            memory.held[result] = made | memory.held.get(result, frozenset())
            continue
        printed = graph.kernels.get(call.name)
        definition = definition_of(printed.source if printed is not None else "")
        contents = [memory.content(buffer) for buffer in buffers]
        written = [buffers[i] for i in definition.written if i < len(buffers)]
        is_cpp = call.kind == "cpp"
        names = _of_cpp_kernel(call, graph, nodes, computed) if is_cpp else call.post_nodes
        listed = [n for n in names if n in nodes.place and n not in of_libraries]
        listed.sort(key=nodes.place.__getitem__)
        added_to: set[str] = set()
        for place in definition.added:
            if place < len(buffers):
                added_to |= _sums(contents[place], listed, nodes.given)
        ready = frozenset(name for content in contents for name in content) - added_to
        able, constant = _able(listed, ready, of_libraries, nodes.given)
        able |= added_to
        named = _returned(call.name, definition, listed, contents, nodes, first_calls)
        named |= {taken_as[buffer] for buffer in written if buffer in taken_as} | added_to
        if is_cpp and len(named) < len(set(written)):  # without a printed fragment
            named |= {n for n in able - constant if nodes.users.get(n, able) - able}
        stored = _stored(named & able, able, constant, nodes.users, len(set(written)))
        mine = _leading_to(stored, able, ready, nodes.given)
        sums = _added_later(adding, call.index, set(written), mine, nodes.given)
        if sums is not None and not mine:
            mine = stored = named.intersection(listed) or set(listed[-1:])
        elif (
            sums and mine <= constant and all(nodes.users.get(node, set()) <= sums for node in mine)
        ):
            filling[call.index] = tuple(sorted(sums, key=nodes.place.__getitem__))
            mine = set()
        if mine:
            computed[call.index] = tuple(
                sorted(mine, key=lambda name: (name in stored, nodes.place[name]))
            )
        for buffer in written:
            memory.held[buffer] = memory.content(buffer) | stored
    return computed | filling


def _of_cpp_kernel(
    call: GeneratedCall,
    graph: CompiledGraph,
    nodes: _Nodes,
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
    return f"{frames[-1][0].rsplit('/', 1)[-1]}:{frames[-1][1]}" if frames else None


def ends_reduction(call: GeneratedCall) -> bool:
    """Does it only add up what a kernel left in parts?"""
    return bool(call.arguments) and call.arguments[0].startswith("workspace")


def _ended(
    call: GeneratedCall, buffers: Sequence[str], memory: Memory, nodes: _Nodes
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
            buffers = frozenset(given[place] for place in added if place < len(given))
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


def memory_of(code: str) -> Memory:
    """Which names of a generated module are one buffer; nothing is held yet."""
    memory = Memory({}, {}, {})
    for row in code.splitlines():
        if reused := _REUSED.match(row):
            memory.took_over[reused["new"]] = reused["old"]
        elif (renamed := _RENAMED.match(row)) and renamed["new"] != renamed["old"]:
            memory.same.setdefault(renamed["new"], renamed["old"])
    return memory


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
    nodes: _Nodes,
    first_calls: dict[str, Mapping[str, int]],
) -> set[str]:
    """What the kernel's printed fragment returns, in the words of one of its calls."""
    if not definition.returned:
        return set()
    first_calls.setdefault(kernel, definition.places(contents))
    own = {node.name for node in definition.nodes if node.target}
    wanted = [name for name in definition.returned if name in own]
    if own.issuperset(wanted) and set(wanted) <= set(listed):
        return set(wanted)
    names = translated(
        definition, first_calls[kernel], contents, nodes.given, nodes.users, nodes.of_target
    )
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
