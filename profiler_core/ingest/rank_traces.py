"""A folder of rank traces, as torchrun jobs leave them: `rank0.json.gz`, `rank1.json.gz`, ….

Only heads of files are read, each once per version.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import TraceFormat
from profiler_core.ingest.formats import trace_endings
from profiler_core.ingest.kinds import cached_kind, rank_header
from profiler_core.ingest.rank_of import rank_in_name

_OF_NO_INTEREST = (".", "__MACOSX", names.TRACE_STACKS.split(".")[0])


@dataclass(frozen=True)
class RankTrace:
    """One file. name: its path below the folder. None: not said."""

    path: Path
    name: str
    is_trace: bool  # False: named like the trace of a rank, and unreadable
    rank: int | None  # what the file says, else its name
    header_rank: int | None  # by the file itself
    world_size: int | None


def rank_trace(path: Path, name: str) -> RankTrace | None:
    """The file as a rank trace; None if it is not one."""
    kind = cached_kind(path)
    is_trace = isinstance(kind, TraceFormat)
    named = rank_in_name(name)
    is_broken = kind is None and named is not None and name.lower().endswith(trace_endings())
    if not is_trace and not is_broken:
        return None
    header = rank_header(path)
    rank = named if header.rank is None else header.rank
    return RankTrace(path, name, not is_broken, rank, header.rank, header.world_size)


def usable(files: list[RankTrace]) -> list[RankTrace]:
    """Without the unreadable ones of ranks that another file has; empty where none is a trace."""
    traces = [file for file in files if file.is_trace]
    ranks = {file.rank for file in traces}
    return [file for file in files if file.is_trace or (traces and file.rank not in ranks)]


def ranks_in(folder: Path) -> Mapping[int, RankTrace]:
    """The ranks of the one job in a folder, by rank; empty where it is not clearly one job.

    Looked at are the folder's files, and those of its folders that are named by a rank. Each of
    two or more traces must say its rank, or its name must, and no two may say the same. All that
    say of how many ranks they are say the same number.
    """
    traces = usable(
        [trace for path, name in _candidates(folder) if (trace := rank_trace(path, name))]
    )
    by_rank = {trace.rank: trace for trace in traces if trace.rank is not None}
    world_sizes = {trace.world_size for trace in traces if trace.world_size}
    if len(by_rank) < 2 or len(by_rank) < len(traces) or len(world_sizes) > 1:
        return {}
    return {rank: by_rank[rank] for rank in sorted(by_rank)}


def world_size_of(ranks: Mapping[int, RankTrace]) -> int:
    """As the files say; else as many as the highest rank tells."""
    world_sizes = [trace.world_size for trace in ranks.values() if trace.world_size]
    return max([*world_sizes, max(ranks) + 1])


def _candidates(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(_OF_NO_INTEREST):
            continue
        if path.is_file():
            yield path, path.name
        elif rank_in_name(path.name) is not None:
            for inner in sorted(path.iterdir()):
                if inner.is_file() and not inner.name.startswith(_OF_NO_INTEREST):
                    yield inner, f"{path.name}/{inner.name}"
