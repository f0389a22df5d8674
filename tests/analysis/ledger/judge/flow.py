"""What each call of a generated module stores and computes, by the flow of data between the calls.

A kernel computes what it *stores*: the pointers of `tl.store` and `tl.atomic_add` (in C++ the
pointers that are not const), named by the `return` of its printed graph fragment. A node that is
only listed beside a kernel, and from which no stored value follows, is not computed there.

Layers share a kernel, whose fragment has the words of its first call. For another call they are
translated by structure: what stands at the first call's places of the fragment's placeholders is
what stands at these places now, and a node is the one of its operator that is handed these.
"""

from tests.analysis.ledger.judge.code import Call, Module, read_calls
from tests.analysis.ledger.judge.definitions import Kernel
from tests.analysis.ledger.judge.graphs import Graph, Node

_VIEWS = ("reshape", "view", "unsqueeze", "squeeze", "expand", "permute", "_unsafe_view")

Contents = dict[str, set[str]]  # buffer -> the nodes that it holds


def read_module(
    code: str, post: Graph, mappings: dict[str, dict[str, list[str]]]
) -> tuple[list[Call], dict[str, Kernel]]:
    """The calls of a module, each with what it computes, and its kernels."""
    calls, kernels, reused = read_calls(code, post, mappings)
    nodes = {node.name: node for node in post.nodes}
    order = {node.name: place for place, node in enumerate(post.nodes)}
    library = _libraries(calls, nodes, order)
    _Flow(calls, kernels, post, reused, library).run()
    return calls, kernels


def _libraries(calls: list[Call], nodes: dict[str, Node], order: dict[str, int]) -> dict[str, Call]:
    """Node -> the library call that it is; fills in what these calls store."""
    library: dict[str, Call] = {}

    def is_node(call: Call, names: tuple[str, ...]) -> None:
        call.stored, call.computed = names, frozenset(names)
        call.is_decided = bool(names)
        library.update(dict.fromkeys(names, call))

    externs = [call for call in calls if call.is_extern]
    for call in externs:
        inside = sorted(call.listed, key=lambda n: order[n])
        is_node(call, _extern_node(call, inside, nodes, set(library)))
    for call in externs:  # which lists all that it is handed, but not itself
        if not call.is_decided:
            given = {*call.listed, *call.reads}
            left = [
                n for n, node in nodes.items()
                if node.op == call.op and n not in library and node.arguments
                and all(_is_view_of(a, given, nodes) for a in node.arguments)
            ]  # fmt: skip
            is_node(call, tuple(left) if len(left) == 1 else ())
    for call in externs:  # whose comment names another node: the only one of its operator left
        if not call.is_decided:
            left = [n for n in nodes if nodes[n].op == call.op and n not in library]
            is_node(call, tuple(left) if len(left) == 1 else ())
    return library


def _is_view_of(name: str, given: set[str], nodes: dict[str, Node]) -> bool:
    """Is it among these, or does it follow from one of them alone?"""
    while name not in given:
        arguments = nodes[name].arguments if name in nodes else ()
        if len(arguments) != 1:
            return False
        name = arguments[0]
    return True


def _extern_node(
    call: Call, inside: list[str], nodes: dict[str, Node], taken: set[str]
) -> tuple[str, ...]:
    """The one node that this library call is: of its operator, and listed with it."""
    same = [n for n in inside if nodes[n].op == call.op]
    if len(same) > 1:
        # The fullest evidence is what it is handed: a predecessor is listed, too.
        given = set(call.reads)
        exact = [n for n in same if set(nodes[n].arguments) & given]
        fresh = [n for n in same if n not in taken]
        same = exact[-1:] if len(exact) == 1 else fresh[:1] or same[:1]
    if not same:
        alike = [
            n for n, node in nodes.items()
            if node.op == call.op and n not in taken and set(node.arguments) & set(call.reads)
        ]  # fmt: skip
        same = alike if len(alike) == 1 else []
    return tuple(same)


class _Flow:
    """The buffers' contents while the calls are gone through in order."""

    def __init__(
        self,
        calls: list[Call],
        kernels: dict[str, Kernel],
        post: Graph,
        reused: dict[str, str],
        library: dict[str, Call],
    ) -> None:
        self.calls, self.kernels, self.reused, self.library = calls, kernels, reused, library
        self.nodes = {node.name: node for node in post.nodes}
        self.order = {node.name: place for place, node in enumerate(post.nodes)}
        self.users: dict[str, set[str]] = {}
        self.by_op: dict[str, list[Node]] = {}
        for node in post.nodes:
            self.by_op.setdefault(node.op, []).append(node)
            for argument in node.arguments:
                self.users.setdefault(argument, set()).add(node.name)
        self.handed: dict[str, str] = {}  # buffer -> the node as which a library call takes it
        for name, call in library.items():
            arguments = self.nodes[name].arguments
            if len(call.in_order) == len(arguments):
                self.handed.update(zip(call.in_order, arguments, strict=True))
        self.held: Contents = {}
        self.places: dict[str, dict[str, int]] = {}  # kernel -> placeholder -> argument's place

    def run(self) -> None:
        """Go through the calls."""
        for number, call in enumerate(self.calls):
            for name in call.writes & self.reused.keys():  # in place, unless written before
                before = name
                while before in self.reused and before not in self.held:
                    before = self.reused[before]
                self.held.setdefault(name, self.held.get(before, set()) | {before})
            if not call.is_extern:
                self._generated(number, call)
            for name in call.writes:
                self.held.setdefault(name, set()).update(call.stored)

    def _generated(self, number: int, call: Call) -> None:
        inside = sorted(call.listed, key=lambda n: self.order[n])
        ready = {n for b in call.reads | call.writes for n in self.held.get(b, ())}
        ready |= call.reads | call.writes
        kernel = self.kernels.get(call.name)
        added_to: set[str] = set()
        for place in kernel.added if kernel is not None else ():
            started = self.held.get(call.at[place], set())
            sums = {n for n in inside if started & set(self.nodes[n].arguments[:1])}
            added_to |= sums or started & set(inside)
        ready -= added_to
        able = _computable(inside, ready, set(self.library), self.nodes) | added_to
        named = self._returned(kernel, call, inside) if kernel is not None else []
        named += [self.handed[b] for b in sorted(call.writes) if b in self.handed]
        named += sorted(added_to)
        stored = [n for n in dict.fromkeys(named) if n in able]
        if len(stored) < len(call.writes):
            # What nobody names: the last of what can be computed from what the kernel reads.
            last = [n for n in inside if n in able and not self.users.get(n, set()) & able]
            stored = list(dict.fromkeys((*stored, *last))) if stored else last
        call.stored = tuple(stored)
        call.computed = _leading_to(call.stored, able, ready - set(stored), self.nodes)
        call.is_decided = bool(call.computed)
        if not able and inside:
            self._for_later(number, call, [n for n in named if n in inside] or inside[-1:])

    def _for_later(self, number: int, call: Call, started: list[str]) -> None:
        """A call that computes none of its nodes: what a later one adds to, or takes."""
        later = self.calls[number + 1 :]
        if any(c.writes & call.writes and self._adds(c, call.writes) for c in later):
            call.stored = tuple(started)
            call.computed = frozenset(started)
        else:  # a copy for a library call
            takers = [c for c in later if c.is_extern and c.reads & call.writes]
            call.computed = frozenset(n for c in takers for n in c.stored if n in call.listed)
        call.is_decided = bool(call.computed)

    def _adds(self, call: Call, buffers: frozenset[str]) -> bool:
        kernel = self.kernels.get(call.name)
        return kernel is not None and any(call.at[place] in buffers for place in kernel.added)

    def _returned(self, kernel: Kernel, call: Call, inside: list[str]) -> list[str]:
        """The nodes that the kernel's `return` names, in the words of this call."""
        own = {node.name for node in kernel.fragment if node.op}
        wanted = [name for name in kernel.returned if name in own]
        if own <= set(inside) or kernel.name not in self.places:
            self.places.setdefault(kernel.name, self._placeholders(kernel, call))
        if set(wanted) <= set(inside):
            return wanted
        names = self._translated(kernel, call)
        own_words = [names[name] & set(inside) for name in wanted]
        return [next(iter(fitting)) for fitting in own_words if len(fitting) == 1]

    def _placeholders(self, kernel: Kernel, call: Call) -> dict[str, int]:
        """Placeholder of the fragment -> place of the argument that holds it in this call."""
        places = {}
        for node in kernel.fragment:
            for place, buffer in enumerate(call.at):
                if not node.op and buffer and node.name in self._content(buffer):
                    places.setdefault(node.name, place)
        return places

    def _content(self, buffer: str) -> set[str]:
        return self.held.get(buffer, set()) | {buffer}

    def _translated(self, kernel: Kernel, call: Call) -> dict[str, set[str]]:
        """Node of the fragment -> what it may be in this call; a placeholder may be anything."""
        names: dict[str, set[str]] = {}
        places = self.places.get(kernel.name, {})
        for node in kernel.fragment:
            if not node.op:
                place = places.get(node.name)
                if place is not None and place < len(call.at):
                    names[node.name] = self._content(call.at[place])
                continue
            # What a known argument may be in this call, by its place.
            known = [(n, names[mine]) for n, mine in enumerate(node.arguments) if mine in names]
            n_arguments = len(node.arguments)
            fitting = {
                other.name
                for other in self.by_op.get(node.op, ())
                if len(other.arguments) == n_arguments
                and all(other.arguments[n] in may_be for n, may_be in known)
            }
            names[node.name] = fitting
            if node.op in _VIEWS and len(node.arguments) == 1:  # another call may not need it
                names[node.name] |= names.get(node.arguments[0], set())
        return names


def _computable(
    inside: list[str], ready: set[str], library: set[str], nodes: dict[str, Node]
) -> set[str]:
    """Of the listed nodes, those that follow from what the kernel reads and from constants."""
    able: dict[str, bool] = {}
    uses: dict[str, bool] = {}

    def loaded(name: str) -> bool:
        """Is anything in it that the kernel reads, and not constants alone?"""
        if name in ready:
            return True
        if name not in uses:
            uses[name] = False
            node = nodes.get(name)
            uses[name] = node is not None and any(loaded(a) for a in node.arguments)
        return uses[name]

    def follows(name: str) -> bool:
        if name in ready:
            return True
        if name not in able:
            node = nodes.get(name)
            able[name] = False
            able[name] = (
                node is not None
                and name not in library
                and all(follows(argument) for argument in node.arguments)
            )
        return able[name]

    computable = {n for n in inside if n not in library and n not in ready and follows(n)}
    own = {n for n in inside if n in ready and n not in library and n in nodes}
    # A second half of a split reduction reads what the first half calls by its node.
    return own if own and not any(loaded(n) for n in computable) else computable or own


def _leading_to(
    stored: tuple[str, ...], inside: set[str], ready: set[str], nodes: dict[str, Node]
) -> frozenset[str]:
    """The listed nodes from which the stored ones follow, as far as they are not loaded."""
    reached: set[str] = set()
    open_nodes = [name for name in stored if name in inside]
    while open_nodes:
        name = open_nodes.pop()
        if name not in reached:
            reached.add(name)
            open_nodes += [a for a in nodes[name].arguments if a in nodes and a not in ready]
    return frozenset(reached & inside)


__all__ = ["Call", "Kernel", "Module", "read_module"]
