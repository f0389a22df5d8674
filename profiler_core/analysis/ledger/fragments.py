"""A generated kernel's source: which pointers it stores to, and the graph fragment in its comment.

Layers share a kernel, and its fragment has the names of its first call. For another call they are
translated by structure: what stood at an argument's place in the first call stands for what is
handed over at that place now, and a node is the one of its operator that is handed these.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from profiler_core.model.inductor import CompiledGraph

_RETURN = re.compile(r"^#   return (%\w+(?:,\s*%\w+)*)\s*$", re.MULTILINE)
_PRINTED = re.compile(
    r"^#   %(\w+) : .*?= (PlaceHolder|call_function)\[target=([\w.]+)\](.*)$", re.M
)
_NAME = re.compile(r"%(\w+)")
_TRITON = re.compile(r"^def (\w+)\(([^()]*)\)", re.MULTILINE)
_STORED = re.compile(r"tl\.(store|atomic_\w+)\(\s*(?:\(\s*)?(\w+)")
_LOADED = re.compile(r"tl\.load\(\s*(?:\(\s*)?(\w+)")
_SIGNATURE = re.compile(r"'signature': \{(?P<items>[^{}]*)\}")
_SIGNED_POINTER = re.compile(r"'(?P<name>\w+)': '\*")
_CPP_TYPES = re.compile(r"async_compile\.cpp_pybinding\(\[([^\[\n]*?)\]")
_CPP_PARAMETERS = re.compile(r"\bkernel\(([^()]*)\)")
_CPP_ADDED = re.compile(r"\batomic_add\w*\(&?(\w+)")
# A layer's call may be handed a tensor in the form that the first call's view made.
_VIEWS = frozenset(
    f"torch.ops.aten.{name}"
    for name in (
        *("reshape.default", "view.default", "_unsafe_view.default", "unsqueeze.default"),
        *("squeeze.dim", "expand.default", "permute.default"),
    )
)


@dataclass(frozen=True, slots=True)
class PrintedNode:
    """A node of the fragment, or (without a target) what the kernel is handed."""

    name: str
    target: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """What a kernel's source says."""

    written: tuple[int, ...]  # places of the pointers that it stores to
    added: tuple[int, ...]  # of these, those that it adds to by atomics
    nodes: tuple[PrintedNode, ...]
    returned: tuple[str, ...]

    def places(self, contents: Sequence[frozenset[str]]) -> dict[str, int]:
        """Placeholder -> place of the argument that holds it, by the first call's buffers."""
        return {
            node.name: argument
            for node in self.nodes
            if not node.target
            for argument in [next((i for i, c in enumerate(contents) if node.name in c), None)]
            if argument is not None
        }


@dataclass(frozen=True, slots=True)
class GraphNodes:
    """The post-grad graph as the flow of data needs it."""

    place: Mapping[str, int]  # node -> its place in the graph
    given: Mapping[str, tuple[str, ...]]  # node -> the tensors that it is handed
    users: Mapping[str, set[str]]
    targets: Mapping[str, str]
    of_target: Mapping[str, set[str]]

    def looked_through(self, name: str, listed: Collection[str]) -> str:
        """What a view that is not listed is of: to store the one is to store the other."""
        of = name
        while of not in listed and self.targets.get(of) in _VIEWS and len(self.given[of]) == 1:
            (of,) = self.given[of]
        return of if of in listed else name


def nodes_of(graph: CompiledGraph) -> GraphNodes:
    """Read a graph's nodes once, in both directions."""
    order = {node.name: number for number, node in enumerate(graph.post_nodes)}
    given = {  # a later node's name is a keyword's here
        node.name: tuple(
            a for a in node.arguments if order.get(a, -1 if a in graph.buffers else number) < number
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
    return GraphNodes(order, given, users, targets, of_target)


@lru_cache(maxsize=4096)
def definition_of(source: str) -> Definition:
    """Read the source of a Triton or C++ kernel, with its comment."""
    returned = _RETURN.search(source)
    nodes = tuple(
        PrintedNode(name, "" if kind == "PlaceHolder" else target, tuple(_NAME.findall(rest)))
        for name, kind, target, rest in _PRINTED.findall(source)
    )
    written, added = _pointers(source)
    names = tuple(name.strip(" %") for name in returned[1].split(",")) if returned else ()
    return Definition(written, added, nodes, names)


PointerRole = Literal["read", "written", "both"]


@lru_cache(maxsize=4096)
def pointer_names(source: str) -> tuple[str, ...]:
    """Of each pointer that a Triton kernel is handed, in order; () if unknown."""
    if signature := _SIGNATURE.search(source):
        return tuple(match["name"] for match in _SIGNED_POINTER.finditer(signature["items"]))
    definition = next((d for d in _TRITON.finditer(source) if d[1].startswith("triton_")), None)
    parameters = definition[2].split(",") if definition is not None else ()
    return tuple(n for n in (p.split(":")[0].strip() for p in parameters) if "ptr" in n)


@lru_cache(maxsize=4096)
def pointer_roles(source: str) -> tuple[PointerRole, ...]:
    """What a Triton kernel does with each pointer that it is handed, in order; () if unknown.

    Inductor says it by the name (`in_ptr0`, `in_out_ptr0`, `out_ptr0`; a template's operands are
    `arg_A`, `arg_B`, …), a kernel of the user's by what it loads and stores. An `in_out_ptr0` that
    is stored alone takes over memory, and nothing that is in it.
    """
    stored = {name for _, name in _STORED.findall(source)}
    loaded = set(_LOADED.findall(source))

    def role(name: str) -> PointerRole:
        if name.startswith("in_out_ptr"):
            return "written" if name in stored and loaded and name not in loaded else "both"
        if name.startswith(("in_ptr", "arg_")):
            return "read"
        if name.startswith("out_ptr"):
            return "written"
        if name in stored or (name not in loaded and name.startswith("out")):
            return "both" if name in loaded else "written"
        return "read"

    return tuple(map(role, pointer_names(source)))


def _parameter_names(parameters: str) -> list[str]:
    """Of C++, in order; empty where one has none."""
    return [["", *words.split()][-1].lstrip("*") for words in parameters.split(",")]


def _pointers(source: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Places of the pointers that a kernel stores to, and of those that it adds to."""
    if types := _CPP_TYPES.search(source):
        pointers = types[1].split(",")
        written = tuple(i for i, t in enumerate(pointers) if "*" in t and "const" not in t)
        parameters = _CPP_PARAMETERS.search(source)
        names = _parameter_names(parameters[1]) if parameters else []
        targets = set(_CPP_ADDED.findall(source))
        return written, tuple(i for i in written if i < len(names) and names[i] in targets)
    stores = [(how, name) for how, name in _STORED.findall(source)]
    stored = {name for _, name in stores}
    for signature in _TRITON.finditer(source):
        if signature[1].startswith("triton_"):
            names = [name.split(":")[0].strip() for name in signature[2].split(",")]
            return (
                tuple(i for i, name in enumerate(names) if name in stored),
                tuple(i for i, name in enumerate(names) if ("atomic_add", name) in stores),
            )
    return (), ()


def translated(
    definition: Definition,
    places: Mapping[str, int],
    contents: Sequence[frozenset[str]],
    nodes: GraphNodes,
) -> dict[str, set[str]]:
    """Node of the fragment -> the graph's nodes that it may be in a call.

    Args:
        definition: of the kernel.
        places: placeholder -> place of its argument.
        contents: the nodes that each of the call's buffers holds.
        nodes: of the call's graph.
    """
    names: dict[str, set[str]] = {}  # a name that is not in it may be anything
    for node in definition.nodes:
        if not node.target:
            argument_number = places.get(node.name)
            if argument_number is not None and argument_number < len(contents):
                names[node.name] = set(contents[argument_number])
            continue
        sure = [names[argument] for argument in node.arguments if argument in names]
        near = nodes.of_target.get(node.target, set())
        if sure:
            fewest = min(sure, key=len)
            near = near & {user for name in fewest for user in nodes.users.get(name, ())}
        names[node.name] = {
            other
            for other in near
            if len(nodes.given[other]) == len(node.arguments)
            and all(
                argument in names[own]
                for own, argument in zip(node.arguments, nodes.given[other], strict=True)
                if own in names
            )
        }
        if node.target in _VIEWS and len(node.arguments) == 1:
            names[node.name] |= names.get(node.arguments[0], set())
    return names
