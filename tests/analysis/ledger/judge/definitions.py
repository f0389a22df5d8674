"""The kernels that a generated module defines: what each one stores, and its printed fragment."""

import re
from dataclasses import dataclass

from tests.analysis.ledger.judge.graphs import bare

_KERNEL = re.compile(
    r"^(?P<name>\w+) = async_compile\.(?P<kind>triton|cpp_pybinding)\((?:'(?P<function>\w+)')?",
    re.M,
)
SOURCES = re.compile(
    r"Topologically Sorted Source Nodes: \[(?P<names>[^\]]*)\]"
    r"(?:, Original ATen: \[(?P<aten>[^\]]*)\])?"
)
_MAPPED = re.compile(r"^#   (?P<source>\S*) => (?P<nodes>.+)$")
_FRAGMENT = re.compile(r"^#   %(?P<name>\w+) :.*?(?P<rest>= .*)$")
_TARGET = re.compile(r"call_function\[target=([\w.]+)\]\(args = (.*)$")
_RETURN = re.compile(r"^#   return (?P<names>%.*)$")
_SIGNATURE = re.compile(r"^def (?P<name>\w+)\((?P<parameters>[^)]*)\)", re.M)
_STORED = re.compile(r"tl\.(?P<how>store|atomic_\w+)\(\s*\(?\s*(?P<pointer>\w+)")


@dataclass(frozen=True)
class FragmentNode:
    """A node as a kernel's comment prints it, in the words of the kernel's first call."""

    name: str
    op: str  # "" for a placeholder: what the kernel is handed
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kernel:
    """A generated kernel's definition, or one of the user's own that is handed on."""

    name: str
    function: str  # its name in a trace
    source_nodes: tuple[str, ...]
    mapped: dict[str, tuple[str, ...]]
    fragment: tuple[FragmentNode, ...]
    returned: tuple[str, ...]
    written: tuple[int, ...]  # positions of the arguments that it stores to
    added: tuple[int, ...]  # of these, where it adds to what is there


def read_kernels(code: str) -> dict[str, Kernel]:
    """Name in the generated code -> its definition."""
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
        fragment: list[FragmentNode] = []
        returned: tuple[str, ...] = ()
        sources: tuple[str, ...] = ()
        for row in comment:
            if found := SOURCES.search(row):
                sources = tuple(n.strip() for n in found["names"].split(",") if n.strip())
            elif (found := _MAPPED.match(row)) and "%" not in row:
                mapped[found["source"]] = tuple(n.strip() for n in found["nodes"].split(","))
            elif found := _FRAGMENT.match(row):
                target = _TARGET.search(found["rest"])
                if target:
                    given = tuple(re.findall(r"%(\w+)", target[2]))
                    fragment.append(FragmentNode(found["name"], bare(target[1]), given))
                elif "PlaceHolder[" in found["rest"]:
                    fragment.append(FragmentNode(found["name"], ""))
            elif found := _RETURN.match(row):
                returned = tuple(n.strip().lstrip("%") for n in found["names"].split(","))
        function = start["function"] or start["name"]
        kernels[start["name"]] = Kernel(
            start["name"], function, sources, mapped, tuple(fragment), returned,
            *_written(start["kind"], function, body),
        )  # fmt: skip
    return kernels


def _written(kind: str, name: str, body: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of the pointers that are stored to, and of those that are added to."""
    if kind == "cpp_pybinding":
        types = re.match(r"\[(.*?)\]", body)
        pointers = types[1].split(",") if types else []
        written = tuple(i for i, t in enumerate(pointers) if "*" in t and "const" not in t)
        added = set(re.findall(r"atomic_add\w*\(&?(\w+)", body))
        names = re.search(r"\(((?:const )?[^()]*\*[^()]*)\)", body.partition("kernel")[2])
        parameters = [p.split()[-1].lstrip("*") for p in names[1].split(",")] if names else []
        return written, tuple(i for i, p in enumerate(parameters) if p in added and i in written)
    signature = next((s for s in _SIGNATURE.finditer(body) if s["name"] == name), None)
    if signature is None:
        return (), ()
    parameters = [p.split(":")[0].strip() for p in signature["parameters"].split(",")]
    stores = [(match["pointer"], match["how"]) for match in _STORED.finditer(body)]
    return (
        tuple(i for i, p in enumerate(parameters) if any(p == name for name, _ in stores)),
        tuple(i for i, p in enumerate(parameters) if (p, "atomic_add") in stores),
    )
