"""Printed FX graphs -> GraphNode records.

Covers `print_readable()` of dynamo, pre-grad, AOT and post-grad graphs, torch 2.3 to 2.15:

    # File: /path/resnet.py:150 in forward, code: out = self.conv1(x)
    out: "f32[32, 64, 56, 56][200704, 3136, 56, 1]cuda:0" = torch.conv2d(x, weight);  x = None
    out += identity;  out_1: "f32[…]" = out;  out = identity = None
    # Backward of forward node: File: /path/resnet.py:150 in forward, code: …      (torch 2.15)

Ignored: placeholders (only their shapes are used by others), `return`, metadata comments.
"""

import re
from collections.abc import Iterator

from profiler_core.digits import is_natural
from profiler_core.model.inductor import GraphNode

_FILE = re.compile(
    r"\s*# (?:Backward of forward node: )?File: (?>(?P<file>.+?):(?P<line>\d{1,18}) in )"
    r"(?P<function>[^,]+)(?:, code: (?P<code>.*))?$"
)
_NO_FILE = re.compile(r"\s*# No stacktrace found")
_ASSIGNED = re.compile(
    r'\s+(?P<name>\w+)(?:\s*: "(?P<type>[^"]*)"| *: .+?)? '
    r"(?P<infix>[-+*/@&|^]|\*\*|//)?= (?P<value>.*)"
)
_BOUND_NEXT = re.compile(r';\s+(?P<name>\w+)(?:\s*: "(?P<type>[^"]*)")? = ')
_CALL = re.compile(r"([A-Za-z_][\w.]*)\(")
_METHOD = re.compile(r"[\w.\]\[]+\.(\w+)\(")
_INFIX = re.compile(r"[\w.\[\]]+ (\*\*|//|>=|<=|==|!=|<<|>>|[-+*/@><&|^%]) ")
_OWNER = re.compile(r"(?!torch\.)([A-Za-z_]\w*)[.\[]")
_INDEXED = re.compile(r"\s+([A-Za-z_]\w*)\[")
_PREFIX = re.compile(r"([-~])\w+")
_NO_NODE = re.compile(r"\bdevice\([^()]*\)|torch\.[\w.]+|\b\w+ = ")
_NAME = re.compile(r"[A-Za-z_]\w*")
_TYPE = re.compile(r"(?P<dtype>[a-z]\w*)\[(?P<shape>[^\]]*)\]")
_SIGNATURE = re.compile(r"^[^\S\n]*def forward\((?P<arguments>[^\n]*)\):", re.MULTILINE)
_ARGUMENT = re.compile(r"\b([LG]_\w+)(?=\s*[:,)=]|$)")
_PLACEHOLDER = re.compile(r'\b(\w+)\s*: "([a-z]\w*\[[^"]*)"')


def read_graph(text: str) -> tuple[GraphNode, ...]:
    """The nodes of a printed graph in its order; () for a text that is no graph."""
    return tuple(_nodes(text))


def placeholder_shapes(text: str) -> dict[str, tuple[tuple[int, ...], str]]:
    """Name -> (shape, dtype) of all values that the printed graph annotates with known sizes."""
    shapes = {}
    for name, annotation in _PLACEHOLDER.findall(text):
        shape, dtype = parse_type(annotation)
        if shape is not None and dtype is not None:
            shapes[name] = (shape, dtype)
    return shapes


def placeholder_names(text: str) -> tuple[str, ...]:
    """Names in the signature of a dynamo graph, which keep the case that the body's lose."""
    signature = _SIGNATURE.search(text)
    return tuple(_ARGUMENT.findall(signature["arguments"])) if signature else ()


def written_parts(text: str) -> dict[str, tuple[str, ...]]:
    """Value -> the values that a dynamo graph writes into parts of it, which are no nodes.

    For instance: mask[(slice(None, 4, None),)] = fill;  setitem = mask;  mask = fill = None
    """
    written: dict[str, list[str]] = {}
    for row in text.splitlines():
        owner, (_, assigned, value) = _INDEXED.match(row), row.partition("] = ")
        if owner and assigned and (name := _NAME.match(value)):
            written.setdefault(owner[1], []).append(name[0])
    return {owner: tuple(names) for owner, names in written.items()}


def parse_type(annotation: str | None) -> tuple[tuple[int, ...] | None, str | None]:
    """`f32[8, 128][128, 1]cuda:0` -> ((8, 128), "f32"); symbolic sizes -> (None, dtype)."""
    match = _TYPE.match(annotation or "")
    if match is None:
        return None, None
    sizes = [size.strip() for size in match["shape"].split(",") if size.strip()]
    if not all(map(is_natural, sizes)):
        return None, match["dtype"]
    return tuple(int(size) for size in sizes), match["dtype"]


def _nodes(text: str) -> Iterator[GraphNode]:
    file = function = code = ""
    line = 0
    for row in text.splitlines():
        if not row.strip() or row.lstrip().startswith("#"):
            if match := _FILE.match(row):
                file, line = match["file"], int(match["line"])
                function, code = match["function"], match["code"] or ""
            elif _NO_FILE.match(row):
                file, line, function, code = "", 0, "", ""
            continue
        match = _ASSIGNED.match(row)
        if match is None:
            continue
        name, annotation, value = match["name"], match["type"], match["value"]
        value = value.split(";  ", 1)[0]
        if match["infix"]:
            # `out += identity;  out_1 = out`: the node is the name that is bound next.
            target, value = match["infix"], f"{name}, {value}"
            if bound := _BOUND_NEXT.search(row):
                name, annotation = bound["name"], bound["type"] or annotation
        else:
            target = _target(value.strip())
        if not target:
            continue
        shape, dtype = parse_type(annotation)
        yield GraphNode(
            name=name, target=target, file=file, line=line, function=function, code=code,
            shape=shape, dtype=dtype, arguments=_arguments(value), owner=_owner(value),
        )  # fmt: skip


def _target(value: str) -> str:
    """What is called on the right-hand side; "" for a plain name."""
    if infix := _INFIX.match(value):
        return infix[1]
    if (call := _CALL.match(value)) and (call[1].startswith("torch.") or "." not in call[1]):
        return call[1]
    if method := _METHOD.match(value):
        return f".{method[1]}"
    if prefix := _PREFIX.match(value):
        return {"-": "neg", "~": "bitwise_not"}[prefix[1]]
    return "getitem" if re.match(r"\w+\[", value) else ""


def _owner(value: str) -> str:
    owner = _OWNER.match(value)
    return owner[1] if owner else ""


def _arguments(value: str) -> tuple[str, ...]:
    inner = value.partition("(")[2] or value
    if inner is not value:
        inner = f"{_owner(value)} {inner}"  # `ge.to(…)`, `weight[(…)]`
    return tuple(_NAME.findall(_NO_NODE.sub(" ", inner)))
