"""Which rank a trace is of: what the file says in its head, else its name."""

import re
from pathlib import Path, PurePosixPath

from profiler_core.errors import BadInput
from profiler_core.ingest.file_kind import RankHeader
from profiler_core.ingest.kinds import kind_of_trace, unpacked_head

# rank0, rank_3, rank-12, r7, or a folder 3 below "ranks"; the last one in a path holds.
_IN_NAME = re.compile(r"(?:^|[^a-z])(?:rank|worker)[ _.=-]*(\d+)|(?:^|/)ranks?/(\d+)(?=/|$)", re.I)


def rank_header(path: Path) -> RankHeader:
    """Rank and world size in the head of a trace, as its format tells them."""
    kind = kind_of_trace(path)
    if kind is None:
        return RankHeader()
    try:
        return kind.rank_header(unpacked_head(path))
    except (BadInput, OSError):
        return RankHeader()  # whoever reads the trace says what is wrong with it


def rank_in_name(name: str) -> int | None:
    """The rank that a path names: `…/rank_3.json`, `…/ranks/3/trace.json.gz`."""
    matches = list(_IN_NAME.finditer(str(PurePosixPath(name.replace("\\", "/")))))
    return int(matches[-1][1] or matches[-1][2]) if matches else None
