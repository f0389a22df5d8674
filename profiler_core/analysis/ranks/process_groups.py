"""The process groups of ranks, and where each rank stands in the mesh that they make.

Sources: `pg_config` of Kineto's distributedInfo (torch 2.4 on); DeviceMesh describes a group as
`mesh_<name of the dimension>`, Megatron-LM as TENSOR_MODEL_PARALLEL_GROUP and the like.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from profiler_core.model.trace import Trace

_MOST_SPELT = 8  # ranks of a group
# The first that is found in the lower-case description holds.
_NAMES: tuple[tuple[str, str], ...] = (
    (r"tensor.?model|tensor.?parallel|(^|_)tp(_|$)", "tp"),
    (r"pipeline|(^|_)pp(_|$)", "pp"),
    (r"context|(^|_)cp(_|$)", "cp"),
    (r"expert.*data|(^|_)edp(_|$)", "edp"),
    (r"expert|(^|_)ep(_|$)", "ep"),
    (r"replicate", "replicate"),
    (r"data.?parallel|shard|(^|_)dp(_|$)", "dp"),
)


@dataclass(frozen=True)
class ProcessGroup:
    """One group of a rank: torch's name and description of it, and its ranks in order."""

    name: str
    description: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Dimension:
    """Groups of one kind that share no rank: a rank's place in its group is its coordinate."""

    label: str  # "tp", or "every 8th rank" where nobody named it
    size: int
    coordinates: Mapping[int, int]  # by rank

    def at(self, rank: int) -> str | None:
        """Where the rank stands: "tp 3"; None: it is in none of these groups."""
        position = self.coordinates.get(rank)
        return None if position is None else f"{self.label} {position}"


def process_groups(trace: Trace) -> tuple[ProcessGroup, ...]:
    """The groups of two ranks and more that the trace's process had, as its header names them."""
    info = trace.metadata.get("distributedInfo")
    config = info.get("pg_config") if isinstance(info, dict) else None
    entries = config if isinstance(config, list) else []
    groups = (_group(entry) for entry in entries if isinstance(entry, dict))
    return tuple(group for group in groups if len(group.ranks) > 1)


def group_text(ranks: Sequence[int]) -> str:
    """The ranks of a group, in short where they are many and evenly spaced: "0 to 504 by 8"."""
    stride = ranks[1] - ranks[0] if len(ranks) > 1 else 1
    is_even = all(b - a == stride for a, b in pairwise(ranks))
    if len(ranks) > _MOST_SPELT and is_even:
        return f"{ranks[0]} to {ranks[-1]}" + (f" by {stride}" if stride != 1 else "")
    return ",".join(map(str, ranks))


def _group(entry: Mapping[str, Any]) -> ProcessGroup:
    listed = entry.get("ranks")
    ranks = listed if isinstance(listed, list) else []
    return ProcessGroup(
        str(entry.get("pg_name", "")),
        str(entry.get("pg_desc", "")),
        tuple(rank for rank in ranks if isinstance(rank, int)),
    )


def dimensions(
    groups: Mapping[int, Sequence[ProcessGroup]], present: Sequence[int]
) -> tuple[Dimension, ...]:
    """The dimensions of the job's mesh, the one whose ranks lie closest together first.

    Groups of one description, size and distance of ranks make one where they share no rank. The
    group of all ranks is none, unless it is described as one; a second one of the same coordinates
    is left out.

    Args:
        groups: by rank.
        present: ranks that are here.
    """
    world = max((rank for group in _every(groups) for rank in group.ranks), default=-1) + 1
    kinds: dict[tuple[str, int, int], set[tuple[int, ...]]] = {}
    for group in _every(groups):
        name = _name(group.description)
        if name or len(group.ranks) < world:
            key = (name, len(group.ranks), group.ranks[1] - group.ranks[0])
            kinds.setdefault(key, set()).add(group.ranks)
    made: list[Dimension] = []
    # Named ones first: of two with the same coordinates that one stays.
    for (name, size, stride), members in sorted(kinds.items(), key=_order):
        coordinates = {rank: position for ranks in members for position, rank in enumerate(ranks)}
        if len(coordinates) < sum(map(len, members)):
            continue  # a rank is in two of them
        here = {rank: coordinates[rank] for rank in present if rank in coordinates}
        if here and all(here != dimension.coordinates for dimension in made):
            made.append(Dimension(name or _by_distance(size, stride), size, here))
    return tuple(sorted(made, key=lambda d: _distance(d.coordinates)))


def _order(kind: tuple[tuple[str, int, int], set[tuple[int, ...]]]) -> tuple[bool, int, int, str]:
    (name, size, stride), _ = kind
    return (not name, stride, size, name)


def _every(groups: Mapping[int, Sequence[ProcessGroup]]) -> list[ProcessGroup]:
    return [group for of_rank in groups.values() for group in of_rank]


def _name(description: str) -> str:
    lower = description.lower()
    name = next((name for pattern, name in _NAMES if re.search(pattern, lower)), "")
    if name or not lower.startswith("mesh_"):
        return name
    return lower.removeprefix("mesh_")


def _by_distance(size: int, stride: int) -> str:
    return f"of {size} neighbours" if stride == 1 else f"of {size}, every {stride}"


def _distance(coordinates: Mapping[int, int]) -> int:
    """From the first rank to the next one of its group."""
    first = min(coordinates)
    own = coordinates[first]
    return (
        min((rank for rank, position in coordinates.items() if position == own + 1), default=0)
        - first
    )
