"""Which rank a trace is of by its name, where its head does not say it (`kinds.rank_header`)."""

import re
from pathlib import PurePosixPath

# rank0, rank_3, rank-12, r7, or a folder 3 below "ranks"; the last one in a path holds.
_IN_NAME = re.compile(
    r"(?:^|[^a-z])(?:rank|worker)[ _.=-]*(\d{1,18})(?!\d)|(?:^|/)ranks?/(\d{1,18})(?=/|$)", re.I
)


def rank_in_name(name: str) -> int | None:
    """The rank that a path names: `…/rank_3.json`, `…/ranks/3/trace.json.gz`."""
    matches = list(_IN_NAME.finditer(str(PurePosixPath(name.replace("\\", "/")))))
    return int(matches[-1][1] or matches[-1][2]) if matches else None
