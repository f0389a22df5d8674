"""Printed FX graphs of a structured log, read for the judge.

Nothing here is shared with the product: the judge has to be able to contradict it.
"""

import re
from dataclasses import dataclass

_NODE = re.compile(r"^\s+(?P<name>\w+)(?:\s*:\s*\"(?P<type>[^\"]*)\")?\s*=\s*(?P<value>[^=].*)$")
_IN_PLACE = re.compile(r"^\s+(?P<name>\w+)\s*(?P<op>[-+*/@|&]|\*\*|//)=\s*(?P<value>.*)$")
_BOUND = re.compile(r";\s+(?P<name>\w+)(?:\s*:\s*\"(?P<type>[^\"]*)\")?\s*=\s*(?P<old>\w+)\b")
_FILE = re.compile(r"#\s*File: (?P<file>.+?):(?P<line>\d+) in ")
_PARAMETER = re.compile(r"(?P<name>\w+)\s*:\s*\"(?P<type>[^\"]*)\"")
_NESTED = re.compile(r"\s+class \w+\(")
_SHAPE = re.compile(r"^(?P<dtype>[a-z]+\d*\w*)\[(?P<shape>[\d, ]*)\]")
_OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "@": "matmul", "**": "pow",
    "//": "floor_divide",
    "%": "remainder", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor", "<": "lt",
    ">": "gt", "<=": "le", ">=": "ge", "==": "eq", "!=": "ne",
}  # fmt: skip
_INFIX = re.compile(r"^[\w.()-]+\s+(\*\*|//|<=|>=|==|!=|[-+*/@%&|^<>])\s+\S+")
_CALLED = re.compile(r"^(?P<path>[A-Za-z_][\w.]*)\(")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Node:
    """One node: its operator's bare name, its shape, what it is handed, where it was written."""

    name: str
    op: str
    arguments: tuple[str, ...]
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    line: str = ""  # "file.py:84"


@dataclass(frozen=True)
class Graph:
    """Nodes in printed order, and the shapes of the placeholders."""

    nodes: tuple[Node, ...]
    placeholders: dict[str, tuple[int, ...]]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape, of placeholders and nodes where it is printed."""
        return {
            **self.placeholders,
            **{node.name: node.shape for node in self.nodes if node.shape is not None},
        }


def bare(operator: str) -> str:
    """`torch.ops.aten.add_.Tensor`, `aten::add_`, `torch.add` -> "add"; a dunder stays."""
    name = operator.removeprefix("torch.ops.").replace("::", ".")
    parts = name.split(".")
    name = parts[1] if operator.startswith("torch.ops.") and len(parts) > 2 else parts[-1]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def shape_of(annotation: str) -> tuple[tuple[int, ...] | None, str]:
    """`f32[8, 128][128, 1]cuda:0` -> ((8, 128), "f32")."""
    match = _SHAPE.match(annotation or "")
    if match is None:
        return None, ""
    return tuple(int(n) for n in match["shape"].split(",") if n.strip()), match["dtype"]


def read_graph(text: str) -> Graph:
    """A printed GraphModule."""
    nodes: list[Node] = []
    placeholders: dict[str, tuple[int, ...]] = {}
    names: set[str] = set()
    line = ""
    aliases: dict[str, str] = {}
    for row in text.splitlines():
        if names and _NESTED.match(row):
            break  # a function that one of the nodes is handed: nothing of the program's own
        if "def forward(self" in row:
            for parameter in _PARAMETER.finditer(row):
                names.add(parameter["name"])
                shape, _ = shape_of(parameter["type"])
                if shape is not None:
                    placeholders[parameter["name"]] = shape
            continue
        if file := _FILE.search(row):
            line = f"{file['file'].rsplit('/', 1)[-1]}:{file['line']}"
            continue
        if "No stacktrace found" in row:
            line = ""
            continue
        if (changed := _IN_PLACE.match(row)) is not None:
            bound = _BOUND.search(changed["value"])
            name = bound["name"] if bound else changed["name"]
            operator, value = _OPERATORS[changed["op"]], f"{changed['name']} {changed['value']}"
            annotation = (bound["type"] or "") if bound else ""
        elif (assigned := _NODE.match(row)) is not None:
            name, value = assigned["name"], assigned["value"].split(";  ", 1)[0]
            annotation = assigned["type"] or ""
            operator = _called(value)
            if operator == "" and re.fullmatch(r"\w+", value.strip()):
                aliases[name] = aliases.get(value.strip(), value.strip())
                continue
        else:
            continue
        shape, dtype = shape_of(annotation)
        given = re.sub(r"\b\w+ ?= ?", "", re.sub(r"^(?:torch\.[\w.]+|[a-z_]\w*(?=\())", "", value))
        given = re.sub(r"torch\.[\w.]+", "", re.sub(r"\.[a-z_]\w*\(", "(", given))
        arguments = tuple(
            aliases.get(word, word)
            for word in _WORD.findall(given)
            if word in names or word in aliases
        )
        nodes.append(Node(name, operator, arguments, shape, dtype, line))
        names.add(name)
    return Graph(tuple(nodes), placeholders)


def _called(value: str) -> str:
    infix = _INFIX.match(value)
    if infix:
        return _OPERATORS[infix[1]]
    called = _CALLED.match(value)
    if called:
        return bare(called["path"])
    if value.startswith("-"):
        return "neg"
    if re.match(r"\w+\[", value):
        return "getitem"
    return ""
