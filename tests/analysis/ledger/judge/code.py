"""What each call of a generated module reads, writes and is listed with, from its source text."""

import re
from dataclasses import dataclass, field

from tests.analysis.ledger.judge.definitions import SOURCES, Kernel, read_kernels
from tests.analysis.ledger.judge.graphs import Graph, bare

_HANDLE = re.compile(r"# \[Provenance debug handles\] (?P<handle>\S+)")
_RUN = re.compile(r"^\s+(?P<name>\w+)\.run\((?P<arguments>.*)\)\s*$")
_CPP = re.compile(r"^\s+(?P<name>cpp_fused\w*)\((?P<arguments>.*)\)\s*$")
_EXTERN = re.compile(
    r"^\s+(?:(?P<result>\w+)\s*=\s*)?(?P<name>extern_kernels\.\w+|torch\.ops\.[\w.]+"
    r"|aten\.[\w.]+)\((?P<arguments>.*)\)\s*$"
)
_ALIAS = re.compile(r"^\s+(?P<new>\w+) = (?P<old>\w+)(?:\[\d+\])?(?:;.*)?$")
_VIEWED = re.compile(r"^\s+(?P<new>\w+) = reinterpret_tensor\((?P<old>\w+),")
_BUFFER = re.compile(r"\b(?:buf\d+|arg\d+_\d+|primals_\d+|[a-z]\w*)\b")

_NO_BUFFER = (
    *("reinterpret_tensor", "torch", "out", "alpha", "beta", "stream", "device"),
    *("stream0", "stream1", "stream2", "stream3"),
)
_OWN_KERNEL = "triton_kernel_wrapper_mutation"  # a kernel of the user's, as the graph calls it


@dataclass
class Call:
    """One call in the order of the generated code."""

    name: str
    op: str  # of the node that a library call or a kernel of the user's is; "" for others
    is_extern: bool
    reads: frozenset[str]
    writes: frozenset[str]
    in_order: tuple[str, ...]  # buffers that it is handed, those of keywords left out
    at: tuple[str, ...]  # the buffer of each argument, "" for a number
    listed: tuple[str, ...]  # post-grad nodes that the log names for it
    computed: frozenset[str] = frozenset()  # of these, what is stored and what leads to it
    stored: tuple[str, ...] = ()
    is_decided: bool = True
    aten: frozenset[str] = frozenset()  # operators of before decomposition, by its comment


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


def read_calls(
    code: str, post: Graph, mappings: dict[str, dict[str, list[str]]]
) -> tuple[list[Call], dict[str, Kernel], dict[str, str]]:
    """The calls of a module, its kernels, and buffer -> the one whose memory it takes over."""
    kernels = read_kernels(code)
    starts = [place for place in (code.find("def partition_"), code.find("def call(")) if place > 0]
    body = code[min(starts, default=0) :]
    listed_by = mappings.get("cppCodeToPost") or {}
    known = {node.name for node in post.nodes}
    calls: list[Call] = []
    aliases: dict[str, str] = {}
    reused: dict[str, str] = {}  # buffer -> the one whose memory and content it takes over
    names: tuple[str, ...] = ()
    aten: tuple[str, ...] = ()
    handle = ""

    def buffer(name: str) -> str:
        while name in aliases and aliases[name] != name:
            name = aliases[name]
        return name

    for row in body.splitlines():
        if sources := SOURCES.search(row):
            names = tuple(n.strip() for n in sources["names"].split(",") if n.strip())
            aten = tuple(bare(n.strip()) for n in (sources["aten"] or "").split(",") if n.strip())
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
        kernel = kernels.get(call_name)
        if generated is not None and kernel is not None:
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
            mapped = kernel.mapped if kernel is not None else {}
            listed = tuple(
                node
                for name in names
                for node in ((name,) if name in known else mapped.get(name, ()))
            )
        is_own = kernel is not None and not kernel.name.startswith(("triton_", "cpp_"))
        calls.append(
            Call(
                name=kernel.function if kernel is not None and is_own else call_name,
                op=_OWN_KERNEL if is_own else bare(call_name) if extern is not None else "",
                is_extern=extern is not None or is_own,
                reads=frozenset(reads),
                writes=frozenset(writes),
                in_order=_in_order(used, arguments),
                at=tuple(names_of[0] if names_of else "" for names_of in used),
                listed=tuple(dict.fromkeys(n for n in listed if n in known)),
                aten=frozenset(aten),
            )
        )
        names, aten, handle = (), (), ""
    return calls, kernels, reused


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
