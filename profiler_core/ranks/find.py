"""The rank traces of a run of several ranks, a folder, a zip, or a URL that fsspec opens.

A run directory of one rank stands for all that lie beside it (`rank_sets`).

Nothing is read but the heads of files. Of a remote store only names are listed; the ranks are
read where they are reduced.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from profiler_core import run_directory as names
from profiler_core.errors import BadInput, NotARun
from profiler_core.ingest.file_kind import Role
from profiler_core.ingest.kinds import is_archive, rank_header
from profiler_core.ingest.rank_of import rank_in_name
from profiler_core.ingest.rank_traces import RankTrace, rank_trace, ranks_in, usable
from profiler_core.ingest.run import unpacked
from profiler_core.ingest.run_files import file_in
from profiler_core.ranks import remote
from profiler_core.ranks.rank_sets import ranks_beside, record_in, sets_in

RANKS = "ranks"  # of a run directory: rank r lies in ranks/<r>
_REMEDY = "Pass a folder, a .zip or a URL with one trace of each rank."
_MOST_FILES = 100_000


@dataclass(frozen=True)
class RankFile:
    """One rank's trace. location: a path, or a URL."""

    rank: int
    location: str
    name: str  # to show: the path below what was asked for


@dataclass(frozen=True)
class RankFiles:
    """All ranks that were found, by rank. notes: sentences about what was guessed or left out."""

    name: str  # of the job
    files: tuple[RankFile, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    location: str
    name: str
    file_rank: int | None  # by the file


def find_ranks(location: str) -> RankFiles:
    """The ranks of the job at a path or URL.

    Raises:
        BadInput: two files are of one rank, or the store cannot be reached.
        NotARun: no trace lies there.
    """
    if remote.is_url(location):
        candidates = [
            _Candidate(url, name, None) for url, name in remote.listed(location, _MOST_FILES)
        ]
        return _numbered(PurePosixPath(location).name or location, candidates)
    path = Path(location).expanduser()
    if not path.exists():
        raise NotARun(f"{location} does not exist.", remedy=_REMEDY)
    if path.is_dir():
        return ranks_below(path, path.name or str(path))
    if is_archive(path):
        return ranks_below(unpacked(path), path.name)
    return _numbered(path.name, [_Candidate(str(path), path.name, rank_header(path).rank)])


def ranks_below(folder: Path, name: str) -> RankFiles:
    """The ranks of a local folder: a run directory, those of all ranks, or traces below it."""
    if (folder / names.RUN_JSON).is_file():
        beside = {} if (folder / RANKS).is_dir() else ranks_beside(folder)
        return _of_set(beside, _set_name(folder)) if beside else _of_run(folder, name)
    runs = [p for p in sorted(folder.iterdir()) if (p / names.RUN_JSON).is_file()]
    if runs:
        sets = sets_in(folder)
        if len(sets) == 1 and len(sets[0]) == len(runs):
            return _of_set(sets[0], name)
        raise NotARun(
            f"{name} holds {len(runs)} runs ({', '.join(p.name for p in runs[:4])}), not one.",
            remedy="Pass one of them, and another as --baseline.",
        )
    inside = sorted(p for p in folder.iterdir() if not p.name.startswith((".", "__MACOSX")))
    if len(inside) == 1 and inside[0].is_dir():
        return ranks_below(inside[0], name)
    traces = list(ranks_in(folder).values()) or _traces_below(folder)
    return _numbered(name, [_Candidate(str(t.path), t.name, t.header_rank) for t in traces])


def has_ranks(run: Path) -> bool:
    """Whether a run or a folder holds several ranks; reads only the heads of files."""
    if (run / names.RUN_JSON).is_file():
        return (run / RANKS).is_dir() or bool(ranks_beside(run))
    return bool(ranks_in(run))


def _traces_below(folder: Path) -> list[RankTrace]:
    """Traces anywhere below it."""
    files = [
        path
        for path in sorted(folder.rglob("*"))[:_MOST_FILES]
        if path.is_file() and not path.name.startswith((names.TRACE_STACKS.split(".")[0], "."))
    ]
    shown = [(path, path.relative_to(folder).as_posix()) for path in files]
    return usable([trace for path, name in shown if (trace := rank_trace(path, name)) is not None])


def _set_name(run: Path) -> str:
    """What the runs of all ranks are called together."""
    record = record_in(run)
    return (record and (record.variant or record.name)) or run.parent.name


def _of_set(ranks: Mapping[int, Path], name: str) -> RankFiles:
    """A run directory for each rank."""
    candidates, notes = [], []
    for rank, directory in ranks.items():
        trace, record = file_in(directory, Role.TRACE), record_in(directory)
        if trace is None:
            why = record.error if record is not None and record.error else "it has no trace"
            notes.append(f"Rank {rank} ({directory.name}) cannot be shown: {why.rstrip('.')}.")
        else:
            candidates.append(_Candidate(str(trace), f"{directory.name}/{trace.name}", rank))
    files = _numbered(name, candidates)
    return replace(files, notes=(*files.notes, *notes))


def _of_run(folder: Path, name: str) -> RankFiles:
    """Rank 0 is the run itself, the others lie below ranks/."""
    below = folder / RANKS
    rank_folders = [p for p in below.iterdir() if p.name.isdecimal()] if below.is_dir() else []
    candidates, without = [], []
    for rank, directory in [(0, folder), *sorted((int(p.name), p) for p in rank_folders)]:
        trace = file_in(directory, Role.TRACE)
        if trace is None:
            without.append(rank)
            continue
        # The folder itself is of rank 0, or of the lowest that somebody brought.
        file_rank = rank_header(trace).rank if directory is folder else rank
        shown = trace.relative_to(folder).as_posix()
        candidates.append(_Candidate(str(trace), shown, rank if file_rank is None else file_rank))
    files = _numbered(name, candidates)
    notes = [f"Rank {rank} has no trace." for rank in without]
    return replace(files, notes=(*files.notes, *notes))


def _numbered(name: str, candidates: Sequence[_Candidate]) -> RankFiles:
    """Each file with its rank: from its content, else its name, else the next free number."""
    if not candidates:
        raise NotARun(f"{name} holds no trace.", remedy=_REMEDY)
    ranks = [c.file_rank if c.file_rank is not None else rank_in_name(c.name) for c in candidates]
    names_by_rank: dict[int, str] = {}
    for candidate, rank in zip(candidates, ranks, strict=True):
        if rank is None:
            continue
        if rank in names_by_rank:
            raise BadInput(
                f"Rank {rank} is in several files: {names_by_rank[rank]} and {candidate.name}.",
                remedy="Keep one trace of each rank and of one job; pass another job by itself.",
            )
        names_by_rank[rank] = candidate.name
    unknown = sorted(c.name for c, rank in zip(candidates, ranks, strict=True) if rank is None)
    free = (
        number
        for number in range(len(candidates) + len(names_by_rank))
        if number not in names_by_rank
    )
    by_order = dict(zip(unknown, free, strict=False))
    files = [
        RankFile(by_order[c.name] if rank is None else rank, c.location, c.name)
        for c, rank in zip(candidates, ranks, strict=True)
    ]
    notes = []
    if unknown and len(candidates) > 1:
        shown = ", ".join(f"{n} as rank {by_order[n]}" for n in unknown[:3])
        ellipsis = " …" if len(unknown) > 3 else ""
        notes.append(
            f"The rank of {len(unknown)} of {len(candidates)} traces is neither in the file nor in "
            f"its name; they are numbered in the order of their names: {shown}{ellipsis}."
        )
    return RankFiles(name, tuple(sorted(files, key=lambda file: file.rank)), tuple(notes))
