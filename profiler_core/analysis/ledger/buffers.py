"""Buffers of a generated module: which names are one, and which nodes they hold."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

_REUSED = re.compile(r"^\s*(?P<new>\w+) = (?P<old>\w+); del \w+\s*# reuse")
_RENAMED = re.compile(
    r"^\s*(?P<new>\w+) = (?:reinterpret_tensor\()?(?P<old>\w+)(?:\[\d+\])?"
    r"(?:,.*\))?(?:;.*)?\s*(?:#.*)?$"
)
_VIEW = re.compile(
    r"\breinterpret_tensor\((?P<of>\w+), \((?P<shape>[\d, ]*)\), \((?P<stride>[\d, ]*)\), \d+\)"
)
_BY_NAME = re.compile(r"\b(?P<name>\w+)=(?:\((?P<numbers>[\d, ]*)\)|(?P<word>\w+))")
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


def memory_of(code: str) -> Memory:
    """Which names of a generated module are one buffer; nothing is held yet."""
    memory = Memory({}, {}, {})
    for row in code.splitlines():
        if reused := _REUSED.match(row):
            memory.took_over[reused["new"]] = reused["old"]
        elif (renamed := _RENAMED.match(row)) and renamed["new"] != renamed["old"]:
            memory.same.setdefault(renamed["new"], renamed["old"])
    return memory


def viewed(code: str, line: int) -> Mapping[str, int]:
    """Values of each buffer that a call is handed in views alone.

    `reinterpret_tensor(buf4, (8, 768), (98304, 1), 0)`: 6144 of buf4. Equal views count once, and
    so does what a stride of 0 repeats; views that overlap count each.

    Args:
        code: the generated module.
        line: of the call, 1-based.
    """
    row = "".join(_rows(code)[line - 1 : line])
    views = {view[0]: view for view in _VIEW.finditer(row)}
    values: dict[str, int] = {}
    for view in views.values():
        sizes = zip(_integers(view["shape"]), _integers(view["stride"]), strict=False)
        n = prod(size for size, stride in sizes if stride)
        values[view["of"]] = values.get(view["of"], 0) + n
    otherwise = set(re.findall(r"\w+", _VIEW.sub("", row)))
    return {name: n for name, n in values.items() if name not in otherwise}


def given_by_name(code: str, line: int) -> Mapping[str, str]:
    """What a call is handed by name, as Kineto writes it: `stride=(2, 2)` is "[2, 2]".

    Args:
        code: the generated module.
        line: of the call, 1-based.
    """
    row = "".join(_rows(code)[line - 1 : line])
    return {
        given["name"]: given["word"] or f"[{', '.join(map(str, _integers(given['numbers'])))}]"
        for given in _BY_NAME.finditer(row)
    }


@lru_cache(maxsize=4)  # the calls of one module are asked for one after the other
def _rows(code: str) -> list[str]:
    return code.splitlines()


def _integers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]
