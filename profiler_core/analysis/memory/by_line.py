"""What each line in the stacks of a snapshot holds at its peak, with all that it calls.

The ledger knows a kernel by its innermost line alone; the stacks of allocations have the lines
that call it too, and page *Memory* shows them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from profiler_core.analysis.memory.snapshot import SnapshotLive


@dataclass
class LineMemory:
    """A line with all that it calls, at the peak."""

    function: str  # that it is of: "forward"
    bytes: int = 0
    n: int = 0  # buffers
    allocating: dict[str, None] = field(default_factory=dict)  # lines; itself, or called by it


def memory_by_line(live: SnapshotLive) -> Mapping[str, LineMemory]:
    """`modeling_bert.py:408` -> what it holds of a live set; of a line that calls itself once."""
    lines: dict[str, LineMemory] = {}
    for origin, n, n_bytes in live.rows:
        frames = dict(zip(origin.lines, origin.path, strict=True))
        for label, frame in frames.items():
            line = lines.setdefault(label, LineMemory(frame.removeprefix(f"{label} ")))
            line.bytes += n_bytes
            line.n += n
            line.allocating[origin.lines[-1]] = None
    return lines
