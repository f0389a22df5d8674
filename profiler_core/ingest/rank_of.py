"""Which rank a trace is of: what the file says in its head, else its name."""

import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from profiler_core.errors import BadInput
from profiler_core.ingest.limits import configured
from profiler_core.ingest.stream import Stream

# Kineto writes its metadata before the events; devices of a big host fill some kB.
HEAD_BYTES = 256 << 10
_DISTRIBUTED = re.compile(rb'"distributedInfo"\s*:\s*(\{)')
# rank0, rank_3, rank-12, r7, or a folder 3 below "ranks"; the last one in a path holds.
_IN_NAME = re.compile(r"(?:^|[^a-z])(?:rank|worker)[ _.=-]*(\d+)|(?:^|/)ranks?/(\d+)(?=/|$)", re.I)


@dataclass(frozen=True)
class Described:
    """What the head of a trace says of its job; None: not said."""

    rank: int | None
    world_size: int | None


NOTHING = Described(None, None)


def described(path: Path) -> Described:
    """Rank and world size in the head of a trace; nothing is parsed but Kineto's own record."""
    try:
        head = b""
        for block in Stream(path, configured()):
            head += block
            if len(head) >= HEAD_BYTES:
                break
    except (BadInput, OSError, zlib.error):
        return NOTHING  # whoever reads the trace says what is wrong with it
    return described_in(head[:HEAD_BYTES])


def described_in(head: bytes) -> Described:
    """As `described`, of the first bytes of the unpacked file."""
    found = _DISTRIBUTED.search(head)
    if found is None:
        return NOTHING
    try:
        text = head[found.start(1) :].decode("utf-8", "replace")
        said, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return NOTHING
    return Described(_whole(said.get("rank")), _whole(said.get("world_size")))


def rank_in_name(name: str) -> int | None:
    """The rank that a path names: `…/rank_3.json`, `…/ranks/3/trace.json.gz`."""
    found = list(_IN_NAME.finditer(str(PurePosixPath(name.replace("\\", "/")))))
    return int(found[-1][1] or found[-1][2]) if found else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
