"""Buffers of a generated module: which names are one, and which nodes they hold."""

import re
from dataclasses import dataclass

_REUSED = re.compile(r"^\s*(?P<new>\w+) = (?P<old>\w+); del \w+\s*# reuse")
_RENAMED = re.compile(
    r"^\s*(?P<new>\w+) = (?:reinterpret_tensor\()?(?P<old>\w+)(?:\[\d+\])?"
    r"(?:,.*\))?(?:;.*)?\s*(?:#.*)?$"
)
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
