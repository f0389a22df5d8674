"""What each call of a generated module reads, stores and computes, from its source text.

A kernel computes what it *stores*: the pointers of `tl.store` and `tl.atomic_add` (in C++ the
pointers that are not const), named by the `return` of its printed graph fragment. A node that is
only listed beside a kernel, and from which no stored value follows, is not computed there.
"""

import re
from dataclasses import dataclass, field

from tests.analysis.ledger.judge.graphs import Graph, Node, bare, read_graph

_KERNEL = re.compile(r"^(?P<name>\w+) = async_compile\.(?P<kind>triton|cpp_pybinding)\(", re.M)
_SOURCES = re.compile(r"Topologically Sorted Source Nodes: \[(?P<names>[^\]]*)\]")
_MAPPED = re.compile(r"^#   (?P<source>\S*) => (?P<nodes>.+)$")
_FRAGMENT = re.compile(r"^#   %(?P<name>\w+) :.*?(?P<rest>= .*)$")
_RETURN = re.compile(r"^#   return (?P<names>%.*)$")
_HANDLE = re.compile(r"# \[Provenance debug handles\] (?P<handle>\S+)")
_SIGNATURE = re.compile(r"^def (?P<name>triton_\w+)\((?P<parameters>[^)]*)\)", re.M)
_STORED = re.compile(r"tl\.(?:store|atomic_\w+)\(\s*\(?\s*(?P<pointer>\w+)")
_RUN = re.compile(r"^\s+(?P<name>triton_\w+)\.run\((?P<arguments>.*)\)\s*$")
_CPP = re.compile(r"^\s+(?P<name>cpp_fused\w*)\((?P<arguments>.*)\)\s*$")
_EXTERN = re.compile(
    r"^\s+(?:(?P<result>\w+)\s*=\s*)?(?P<name>extern_kernels\.\w+|torch\.ops\.[\w.]+"
    r"|aten\.[\w.]+)\((?P<arguments>.*)\)\s*$"
)
_ALIAS = re.compile(r"^\s+(?P<new>\w+) = (?P<old>\w+)(?:\[\d+\])?(?:;.*)?$")
_VIEWED = re.compile(r"^\s+(?P<new>\w+) = reinterpret_tensor\((?P<old>\w+),")
_BUFFER = re.compile(r"\b(?:buf\d+|arg\d+_\d+|primals_\d+|[a-z]\w*)\b")

_NO_BUFFER = ("reinterpret_tensor", "torch", "out", "alpha", "beta", "stream", "device")


@dataclass(frozen=True)
class Kernel:
    """A generated kernel's definition."""

    name: str
    source_nodes: tuple[str, ...]
    mapped: dict[str, tuple[str, ...]]
    fragment: tuple[tuple[str, str], ...]  # (node, operator), placeholders left out
    returned: tuple[str, ...]
    written: tuple[int, ...]  # positions of the arguments that it stores to


@dataclass
class Call:
    """One call in the order of the generated code."""

    name: str
    handle: str
    is_extern: bool
    arguments: tuple[str, ...]
    reads: frozenset[str]
    writes: frozenset[str]
    in_order: tuple[str, ...]  # buffers that it is handed, by position
    listed: tuple[str, ...]  # post-grad nodes that the log names for it
    computed: frozenset[str] = frozenset()  # of these, what is stored and what leads to it
    stored: tuple[str, ...] = ()
    is_decided: bool = True


@dataclass
class Module:
    """One generated module: its calls, and the graphs that it was made from."""

    compile_id: str
    is_backward: bool
    calls: list[Call]
    dynamo: Graph
    post: Graph
    aot: Graph
    origins: dict[str, tuple[str, ...]] = field(default_factory=dict)  # post node -> dynamo nodes


def read_module(
    code: str, post: Graph, mappings: dict[str, dict[str, list[str]]]
) -> tuple[list[Call], dict[str, Kernel]]:
    """The calls of a module, each with what it computes."""
    kernels = _kernels(code)
    starts = [place for place in (code.find("def partition_"), code.find("def call(")) if place > 0]
    body = code[min(starts, default=0) :]
    listed_by = mappings.get("cppCodeToPost") or {}
    known = {node.name for node in post.nodes}
    calls: list[Call] = []
    aliases: dict[str, str] = {}
    reused: dict[str, str] = {}  # buffer -> the one whose memory and content it takes over
    names: tuple[str, ...] = ()
    handle = ""

    def buffer(name: str) -> str:
        while name in aliases and aliases[name] != name:
            name = aliases[name]
        return name

    for row in body.splitlines():
        if sources := _SOURCES.search(row):
            names = tuple(n.strip() for n in sources["names"].split(",") if n.strip())
            continue
        if found := _HANDLE.search(row):
            handle = found["handle"]
            continue
        if view := _VIEWED.match(row):
            aliases[view["new"]] = view["old"]
            continue
        generated = _RUN.match(row) or _CPP.match(row)
        extern = None if generated else _EXTERN.match(row)
        if generated is None and extern is None:
            if alias := _ALIAS.match(row):
                if "# reuse" in row:
                    reused[alias["new"]] = buffer(alias["old"])
                else:
                    aliases[alias["new"]] = alias["old"]
            continue
        call_name = (generated or extern)["name"]  # type: ignore[index]
        arguments = tuple(_split((generated or extern)["arguments"]))  # type: ignore[index]
        used = [[buffer(b) for b in _BUFFER.findall(a) if b not in _NO_BUFFER] for a in arguments]
        if generated is not None and call_name in kernels:
            kernel = kernels[call_name]
            writes = {used[i][0] for i in kernel.written if i < len(used) and used[i]}
            reads = {b for i, bs in enumerate(used) for b in bs if i not in kernel.written}
        else:
            writes = {buffer(b) for a in arguments if a.startswith("out=") for b in [a[4:]]}
            if extern is not None and extern["result"]:
                writes.add(extern["result"])
            reads = {b for bs, a in zip(used, arguments, strict=True) for b in bs
                     if not a.startswith("out=")}  # fmt: skip
        listed = tuple(listed_by.get(handle, ()) or ())
        if not listed:
            mapped = kernels[call_name].mapped if call_name in kernels else {}
            listed = tuple(
                node
                for name in names
                for node in ((name,) if name in known else mapped.get(name, ()))
            )
        calls.append(
            Call(
                name=call_name,
                handle=handle,
                is_extern=extern is not None,
                arguments=arguments,
                reads=frozenset(reads),
                writes=frozenset(writes),
                in_order=_in_order(used, arguments),
                listed=tuple(dict.fromkeys(n for n in listed if n in known)),
            )
        )
        names, handle = (), ""
    _compute(calls, kernels, post, reused)
    return calls, kernels


def _in_order(used: list[list[str]], arguments: tuple[str, ...]) -> tuple[str, ...]:
    names = []
    for buffers, argument in zip(used, arguments, strict=True):
        if "=" not in argument.split("(")[0]:
            names += buffers if argument.startswith("[") else buffers[:1]
    return tuple(names)


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return [*parts, text[start:].strip()]


def _kernels(code: str) -> dict[str, Kernel]:
    kernels: dict[str, Kernel] = {}
    starts = list(_KERNEL.finditer(code))
    previous = 0
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(code)
        body = code[start.end() : end]
        head = code[previous : start.start()].splitlines()
        previous = start.end()
        comment = [row for row in head[-4000:] if row.startswith("#")]
        begins = max((i for i, r in enumerate(comment) if r.startswith("# kernel path")), default=0)
        comment = comment[begins:]
        mapped: dict[str, tuple[str, ...]] = {}
        fragment: list[tuple[str, str]] = []
        returned: tuple[str, ...] = ()
        sources: tuple[str, ...] = ()
        for row in comment:
            if found := _SOURCES.search(row):
                sources = tuple(n.strip() for n in found["names"].split(",") if n.strip())
            elif (found := _MAPPED.match(row)) and "%" not in row:
                mapped[found["source"]] = tuple(n.strip() for n in found["nodes"].split(","))
            elif found := _FRAGMENT.match(row):
                target = re.search(r"target=([\w.]+)\]", found["rest"])
                if target and "PlaceHolder[" not in found["rest"]:
                    fragment.append((found["name"], bare(target[1])))
            elif found := _RETURN.match(row):
                returned = tuple(n.strip().lstrip("%") for n in found["names"].split(","))
        kernels[start["name"]] = Kernel(
            start["name"], sources, mapped, tuple(fragment), returned,
            _written(start["kind"], start["name"], body),
        )  # fmt: skip
    return kernels


def _written(kind: str, name: str, body: str) -> tuple[int, ...]:
    if kind == "cpp_pybinding":
        types = re.match(r"\[(.*?)\]", body)
        pointers = types[1].split(",") if types else []
        return tuple(i for i, t in enumerate(pointers) if "*" in t and "const" not in t)
    signature = next((s for s in _SIGNATURE.finditer(body) if s["name"] == name), None)
    if signature is None:
        return ()
    parameters = [p.split(":")[0].strip() for p in signature["parameters"].split(",")]
    stored = {match["pointer"] for match in _STORED.finditer(body)}
    return tuple(i for i, p in enumerate(parameters) if p in stored)


def _compute(
    calls: list[Call], kernels: dict[str, Kernel], post: Graph, reused: dict[str, str]
) -> None:
    """Fill in what each call stores and computes, by the flow of data between the calls."""
    nodes = {node.name: node for node in post.nodes}
    order = {node.name: place for place, node in enumerate(post.nodes)}
    users: dict[str, set[str]] = {}
    for node in post.nodes:
        for argument in node.arguments:
            users.setdefault(argument, set()).add(node.name)
    library: dict[str, Call] = {}
    handed: dict[str, str] = {}  # buffer -> the node as which a library call takes it
    for call in calls:
        if not call.is_extern:
            continue
        inside = sorted(call.listed, key=lambda n: order[n])
        call.stored = _extern_node(call, inside, nodes, set(library))
        call.computed = frozenset(call.stored)
        call.is_decided = bool(call.stored)
        for name in call.stored:
            library[name] = call
            if len(call.in_order) == len(nodes[name].arguments):
                handed.update(zip(call.in_order, nodes[name].arguments, strict=True))
    for call in calls:  # whose comment names another node: the only one of its operator left
        left = [n for n in nodes if nodes[n].op == bare(call.name) and n not in library]
        if call.is_extern and not call.is_decided and len(left) == 1:
            call.stored, call.computed = (left[0],), frozenset(left)
            call.is_decided = True
            library[left[0]] = call
    held: dict[str, set[str]] = {}  # buffer -> nodes stored in it
    for call in calls:
        for name in call.writes & reused.keys():  # in place, unless it was written before
            before = name
            while before in reused and before not in held:
                before = reused[before]
            held.setdefault(name, held.get(before, set()) | {before})
        if not call.is_extern:
            inside = sorted(call.listed, key=lambda n: order[n])
            ready = {n for b in call.reads | call.writes for n in held.get(b, ())}
            ready |= call.reads | call.writes
            able = _computable(inside, ready, set(library), nodes)
            kernel = kernels.get(call.name)
            named = _stored(kernel, inside, nodes) if kernel is not None else ()
            named = (*named, *(handed[b] for b in sorted(call.writes) if b in handed))
            stored = [n for n in dict.fromkeys(named) if n in able]
            # What nobody names: the last of what can be computed from what the kernel reads.
            last = [n for n in inside if n in able and not users.get(n, set()) & able]
            call.stored = tuple(stored) or tuple(last)
            call.computed = _leading_to(call.stored, able, ready - set(call.stored), nodes)
            call.is_decided = bool(call.computed)
            if not able and inside:  # a copy for the library call that takes it
                takers = [c for c in calls if c.is_extern and c.reads & call.writes]
                call.computed = frozenset(n for c in takers for n in c.stored if n in inside)
                call.is_decided = bool(call.computed)
        for name in call.writes:
            held.setdefault(name, set()).update(call.stored)


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


def _extern_node(
    call: Call, inside: list[str], nodes: dict[str, Node], taken: set[str]
) -> tuple[str, ...]:
    """The one node that this library call is: of its operator, and listed with it."""
    name = bare(call.name)
    same = [n for n in inside if nodes[n].op == name]
    if len(same) > 1:
        # The fullest evidence is what it is handed: a predecessor is listed, too.
        given = set(call.reads)
        exact = [n for n in same if set(nodes[n].arguments) & given]
        fresh = [n for n in same if n not in taken]
        same = exact[-1:] if len(exact) == 1 else fresh[:1] or same[:1]
    if not same:
        alike = [
            n for n, node in nodes.items()
            if node.op == name and n not in taken and set(node.arguments) & set(call.reads)
        ]  # fmt: skip
        same = alike[:1]
    return tuple(same)


def _stored(kernel: Kernel, inside: list[str], nodes: dict[str, Node]) -> tuple[str, ...]:
    """The nodes that the kernel's `return` names, in the words of this call.

    A kernel that all layers share has the fragment of its first call; another call's nodes are
    the same operators in the same order.
    """
    own = [name for name, _ in kernel.fragment]
    wanted = [name for name in kernel.returned if name in own]
    if not wanted:
        return ()
    if set(wanted) <= set(inside):
        return tuple(wanted)
    theirs: dict[str, list[str]] = {}
    ours: dict[str, list[str]] = {}
    for name, operator in kernel.fragment:
        ours.setdefault(operator, []).append(name)
    for name in inside:
        theirs.setdefault(nodes[name].op, []).append(name)
    translated = []
    for name in wanted:
        operator = next(op for n, op in kernel.fragment if n == name)
        if len(ours[operator]) != len(theirs.get(operator, ())):
            return ()
        translated.append(theirs[operator][ours[operator].index(name)])
    return tuple(translated)


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


__all__ = ["Call", "Kernel", "Module", "read_graph", "read_module"]
