"""Inductor's generated Python module -> its calls in order, its kernels, its buffers.

The calls are read from the code itself, so that torch 2.2 to 2.15 give the same record; what the
comments add (source nodes 2.2+, provenance handles 2.9+) is kept where it is. A call is a
statement that can start kernels: a Triton launch, a library kernel, a C++ kernel. With graph
partitions (2.8+) the calls lie in `partition_0`, `partition_1`, … which `call` runs in order.

    # Topologically Sorted Source Nodes: [x_1, x_2], Original ATen: [aten.relu]
    # [Provenance debug handles] triton_poi_fused_relu_2:4
    triton_poi_fused_relu_2.run(buf3, arg2_1, 25690112, stream=stream0)
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from profiler_core.digits import is_natural
from profiler_core.model.inductor import CallKind, GeneratedCall, KernelDefinition

_FUNCTION = re.compile(
    r"(?P<indent>\s*)def (?P<name>call|partition_\d+)\((?:self, )?(?:args|partition\w*)\)"
)
_RUN_PARTITION = re.compile(r"(?:self\.partitions\[(\d+)\]|\b(partition_\d+))\(")
_SOURCE = re.compile(
    r"#\s*(?:Topologically Sorted )?Source Nodes: \[(?P<nodes>.*?)\]"
    r"(?:, Original ATen: \[(?P<aten>.*?)\])?"
)
_HANDLE = re.compile(r"#\s*\[Provenance debug handles\] (?P<handle>\S+:\d+)")
_TRITON = re.compile(r"(?<![\w.])(?P<name>\w+)\.run\(")
_LIBRARY = re.compile(
    r"(?<![\w.])(?P<name>extern_kernels\.\w+|torch\.ops\.\w+\.\w+(?:\.\w+)?|aten\.\w+(?:\.\w+)?)\("
)
_CPP = re.compile(r"^\s*(?P<name>(?:graph_\d+_)?(?:cpp_\w+|kernel_cpp_\w+))\(")
_COPY = re.compile(r"^\s*(?P<target>\w+)\.copy_\(")
# What ends a kernel that reduces both ways (2.10+): `buf3 = workspace_0[…].view(64, 8).sum(dim=0)`,
# or into a part of a larger buffer, `buf3.copy_(workspace_0[…].view(64, 8).sum(dim=0))`.
_ENDING = re.compile(
    r"^\s*(?P<target>\w+)(?: = |\.copy_\()(?P<source>\w+)(?:\[[^\]]*\])?(?:\.view\(.*?\))?"
    r"\.(?P<operator>sum|prod|amax|amin|max|min|any)\(dim=0\)"
)
_EMPTY = re.compile(
    r"\s*(?P<name>\w+) = empty_strided(?:_cuda|_cpu|_xpu|_mtia)?"
    r"\(\((?P<shape>[^)]*)\), \([^)]*\),? ?"
    r"(?:device='\w+', dtype=)?(?P<dtype>torch\.\w+)?"
)
_RANDOM = re.compile(
    r"\s*(?P<name>\w+) = rand_strided\(\((?P<shape>[^)]*)\), \([^)]*\), "
    r".*dtype=(?P<dtype>torch\.\w+)"
)
_REUSE = re.compile(r"^\s*(?P<name>\w+) = (?P<old>\w+); del \w+")
_RESHAPED = re.compile(
    r"^\s*(?P<name>\w+) = reinterpret_tensor\((?P<old>\w+), \((?P<shape>[^)]*)\), "
)
_DEFINITION = re.compile(r"^(?P<name>\w+) = async_compile\.(?P<language>\w+)\(", re.MULTILINE)
_CLOSING = re.compile(r"\n'''[,)]")  # of a Triton kernel's text, of a C++ kernel's
_FRAGMENT = re.compile(
    r'^#\s+%(?P<name>\w+) : (?:Tensor|\[num_users)(?>[^"\n]*"(?P<type>[^"\n]*)").*PlaceHolder',
    re.MULTILINE,
)
_MAPPING = re.compile(r"^#   (?P<source>\S*) => (?P<nodes>.*)$", re.MULTILINE)
# Functions of extern_kernels and torch.ops that only prepare memory.
_NO_KERNEL = re.compile(r"empty|as_strided|alloc|_reinterpret|set_source_Tensor|assert_size")
_PREPARES = re.compile(
    r"\s*(?:del |assert|with |stream\d+ = |raw_stream|return |if "
    r"|\w+ = (?:empty|reinterpret|get_raw|\w+; del))"
)
_DTYPES = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
    "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "b8", "complex64": "c64",
}  # fmt: skip


@dataclass
class _Body:
    """What one function of the module does, in order: its own calls, or a partition by name."""

    steps: list["GeneratedCall | str"] = field(default_factory=list)


def read_calls(code: str) -> tuple[GeneratedCall, ...]:
    """The calls of a generated module in order of execution; () for a text that has none."""
    bodies: dict[str, _Body] = {}
    body: _Body | None = None
    indent = 0
    comment: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    handle: str | None = None
    for number, row in enumerate(code.splitlines(), start=1):
        if function := _FUNCTION.match(row):
            body = bodies.setdefault(function["name"], _Body())
            indent = len(function["indent"])
            continue
        if body is None or not row.strip():
            continue
        if len(row) - len(row.lstrip()) <= indent:
            body = None
            continue
        if row.lstrip().startswith("#"):
            text = row.lstrip()
            if source := _SOURCE.match(text):
                nodes = tuple(name.strip() for name in source["nodes"].split(","))
                comment = (nodes if any(nodes) else (), _names(source["aten"] or ""))
            elif match := _HANDLE.match(text):
                handle = match["handle"]
            continue
        if partition := _RUN_PARTITION.search(row):
            body.steps.append(partition[2] or f"partition_{partition[1]}")
            continue
        call = _call(row, number, comment, handle)
        if call is not None:
            body.steps.append(call)
            comment, handle = ((), ()), None
    return _in_order(bodies)


def read_kernels(code: str) -> dict[str, KernelDefinition]:
    """Generated kernels by name, each with the node mapping of the comment above it."""
    kernels: dict[str, KernelDefinition] = {}
    end, closing = 0, _CLOSING.search(code)
    for definition in _DEFINITION.finditer(code):
        if definition.start() < end:
            continue  # within the text of another one
        head = code[end : definition.start()]
        head = (
            head[head.rfind("\n\n") + 1 :]
            if "# kernel path" not in head
            else head[head.rfind("# kernel path") :]
        )
        if closing is not None and closing.start() < definition.end():
            closing = _CLOSING.search(code, definition.end())
        end = code.find("\n", closing.end()) if closing else definition.end()
        end = len(code) if end < 0 else end
        kernels[definition["name"]] = KernelDefinition(
            name=definition["name"],
            source=(head.strip("\n") + "\n" + code[definition.start() : end]).strip("\n"),
            nodes=tuple((m["source"], _names(m["nodes"])) for m in _MAPPING.finditer(head)),
            inputs=tuple((m["name"], m["type"]) for m in _FRAGMENT.finditer(head)),
        )
    return kernels


def read_buffers(
    code: str, results: Mapping[str, tuple[tuple[int, ...], str]] | None = None
) -> dict[str, tuple[tuple[int, ...], str]]:
    """Buffers and arguments of the module: name -> (shape, dtype); symbolic sizes are left out.

    Args:
        code: the generated module.
        results: what is known of buffers that library calls make themselves.
    """
    buffers: dict[str, tuple[tuple[int, ...], str]] = dict(results or {})
    for row in code.splitlines():
        is_made = "_strided" in row
        if is_made and (match := _EMPTY.match(row) or _RANDOM.match(row)):
            shape = _sizes(match["shape"])
            dtype = _DTYPES.get((match["dtype"] or "").removeprefix("torch."))
            if shape is not None and dtype:
                buffers[match["name"]] = (shape, dtype)
        elif (again := _REUSE.match(row)) and again["old"] in buffers:
            buffers[again["name"]] = buffers[again["old"]]
        elif (again := _RESHAPED.match(row)) and again["old"] in buffers:
            shape = _sizes(again["shape"])
            if shape is not None:
                buffers[again["name"]] = (shape, buffers[again["old"]][1])
    return buffers


def _call(
    row: str, number: int, comment: tuple[tuple[str, ...], tuple[str, ...]], handle: str | None
) -> GeneratedCall | None:
    kind: CallKind
    if (match := _closed(_TRITON.search(row))) and not match["name"].startswith("runner"):
        kind = "template" if match["name"].startswith("triton_tem") else "triton"
        name = match["name"]
    elif match := _closed(_CPP.match(row)):
        kind, name = "cpp", match["name"]
    elif match := _closed(_LIBRARY.search(row)):
        kind, name = "library", match["name"]
        if _NO_KERNEL.search(name.rsplit(".", 1)[-1]) or _NO_KERNEL.search(name.split(".")[-2]):
            return None
    elif match := _ENDING.match(row):
        kind, name = "library", f"aten.{match['operator']}"
    elif match := _closed(_COPY.match(row)):
        kind, name = "library", "aten.copy_"
    elif handle is not None and "(" in row and not _PREPARES.match(row):
        match, kind, name = None, "library", handle.rsplit(":", 1)[0]
    else:
        return None
    within = row[match.end() : row.rfind(")")] if match else ""
    if match and match.re is _ENDING:
        within = match["source"]
    arguments = tuple(re.findall(r"\b[A-Za-z_]\w*\b", within))
    result = re.match(r"\s*(\w+)(?: = |\.copy_\()", row)
    return GeneratedCall(
        index=0, name=name, kind=kind, line=number, handle=handle,
        source_nodes=comment[0], original_aten=comment[1],
        arguments=arguments, result=result[1] if result else "",
    )  # fmt: skip


def _closed(call: re.Match[str] | None) -> re.Match[str] | None:
    """The match of a call's name and bracket, where a bracket closes behind it."""
    return call if call and call.string.find(")", call.end()) >= 0 else None


def _in_order(bodies: dict[str, _Body]) -> tuple[GeneratedCall, ...]:
    """Calls of `call`, with each partition's own in place of the statement that runs it."""
    flat: list[GeneratedCall] = []

    def walk(body: _Body, depth: int) -> None:
        for step in body.steps:
            if isinstance(step, GeneratedCall):
                flat.append(step)
            elif step in bodies and depth < 2:
                walk(bodies[step], depth + 1)

    walk(bodies.get("call", _Body()), 0)
    if not flat:  # partitions that `call` runs in a way unknown to us: their textual order
        for body in bodies.values():
            walk(body, 2)
    return tuple(msgspec.structs.replace(call, index=index) for index, call in enumerate(flat))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _sizes(text: str) -> tuple[int, ...] | None:
    sizes = [size.strip() for size in text.split(",") if size.strip()]
    return tuple(map(int, sizes)) if all(map(is_natural, sizes)) else None
