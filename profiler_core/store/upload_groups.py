"""Which uploaded files belong together: one run directory for each run.json and each trace.

Names are what people called things; they are compared and shown, never opened.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import OF_THE_COMPILER, FileKind, Role
from profiler_core.ingest.formats import endings, stored_names, usual_words
from profiler_core.ingest.graph_captures import is_graph_capture
from profiler_core.ingest.kinds import is_empty, rank_header
from profiler_core.ingest.sniff import PACKED_ENDINGS, Packing, packing_of
from profiler_core.store.incoming import shown
from profiler_core.store.upload_ranks import (
    job_name,
    jobs_among,
    rank_folder_below,
    rank_folders_beside,
)


@dataclass(frozen=True)
class Part:
    """One file, as it came or out of an archive. The name may hold folders."""

    name: str
    path: Path
    kind: FileKind | None

    @property
    def label(self) -> str:
        """The name as it is shown."""
        return shown(self.name)

    @property
    def role(self) -> Role | None:
        """The role of the file in its run; None if its kind is unknown."""
        return None if self.kind is None else self.kind.role


@dataclass
class RunParts:
    """The files of one run: where each is to lie in the run directory."""

    name: str  # as people see it
    files: dict[str, Part] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name = shown(self.name)

    @property
    def has_record(self) -> bool:
        """Did it bring a run.json?"""
        return names.RUN_JSON in self.files

    @property
    def n_ranks(self) -> int:
        """Rank 0 is the run itself, each other one has a folder below ranks/."""
        return 1 + len({name.split("/")[1] for name in self.files if name.startswith("ranks/")})

    @property
    def world_size(self) -> int:
        """Of how many ranks its job is, where several came along; of one alone 1."""
        if self.n_ranks == 1 or self.trace is None:
            return 1
        return max(self.n_ranks, rank_header(self.trace.path).world_size or 0)

    @property
    def trace(self) -> Part | None:
        """Its trace, if it has one."""
        trace_names = stored_names(Role.TRACE)
        return next(
            (self.files[stored_name] for stored_name in trace_names if stored_name in self.files),
            None,
        )


@dataclass(frozen=True)
class Groups:
    """The runs, a sentence for each file that belongs to none, and the logs of unknown runs."""

    runs: tuple[RunParts, ...]
    notes: tuple[str, ...]
    unclear: tuple[Part, ...] = ()  # a compiler's logs; the traces may tell whose: see `uploads`


# Files of a run directory that only their name tells: their content is anybody's.
_BY_NAME = {
    names.TRACE_STACKS.removesuffix(".gz"): names.TRACE_STACKS.removesuffix(".gz"),
    names.TORCH_LOGS: names.TORCH_LOGS,
    names.SOURCES: names.SOURCES,
    names.STDOUT: names.STDOUT,
}


def group(parts: Iterable[Part]) -> Groups:
    """Sort the files into runs."""
    every = sorted(parts, key=lambda part: part.name)
    captures = _graph_captures(every)
    recorded, loose = _by_records([part for part in every if part not in captures])
    ranked, loose = _by_jobs(loose)
    runs = recorded + ranked
    leading = _leading(loose, is_alone=not runs)
    bare_runs = [RunParts(name) for name in display_names([part.name for part in leading])]
    for run, part in zip(bare_runs, leading, strict=True):
        _put(run, part)
    other_parts = [part for part in loose if part not in leading]
    notes = [note for part in other_parts if (note := _left_out(part)) is not None]
    readable = [part for part in other_parts if part.role not in (None, Role.NOT_READ)]
    if readable and not bare_runs:
        alone = RunParts(display_names([readable[0].name])[0])
        bare_runs = [runs.pop() if len(runs) == 1 else alone]
    assignment_notes, unclear = _assigned_to_runs(readable, bare_runs)
    notes += [*assignment_notes, *_give_captures(captures, [*runs, *bare_runs])]
    return Groups((*runs, *bare_runs), tuple(notes), unclear)


def _graph_captures(parts: list[Part]) -> list[Part]:
    """Traces of the capture of graphs, where another trace is there that may replay them."""
    traces = [part for part in parts if part.role is Role.TRACE]
    captures = [part for part in traces if is_graph_capture(part.name)]
    return captures if len(captures) < len(traces) else []


def _give_captures(captures: list[Part], runs: list[RunParts]) -> list[str]:
    """Put each to the runs above its folder, else to the only run; a sentence for the others."""
    notes = []
    for part in captures:
        above = _folder(_folder(part.name))
        fits = [run for run in runs if run.trace and _folder(run.trace.name) == above]
        fits = fits or (runs if len(runs) == 1 else [])
        for run in fits:
            n_there = sum(name.startswith(f"{names.GRAPH_CAPTURES}/") for name in run.files)
            ending = ".json.gz" if _is_gzipped(part.path) else ".json"
            run.files[f"{names.GRAPH_CAPTURES}/{n_there}{ending}"] = part
        if not fits:
            notes.append(not_clear(part, len(runs)))
    return notes


def _by_records(parts: list[Part]) -> tuple[list[RunParts], list[Part]]:
    """A run for each run.json with the files of its folder, and the files that are in none."""
    runs: list[RunParts] = []
    loose = parts
    records = [part for part in parts if part.role is Role.RECORD]
    by_folder: dict[str, RunParts] = {}
    rank_folders = rank_folders_beside([(_folder(record.name), record.path) for record in records])
    # Shorter folders first: a run comes before its ranks; among those of one job the lowest rank.
    for record in sorted(records, key=lambda part: _order(part, rank_folders)):
        folder = _folder(record.name)
        of_rank = rank_folders.get(folder) or rank_folder_below(folder, by_folder)
        if of_rank is None:
            run, below = RunParts(_last(folder) or "run"), ""
            by_folder[folder] = run
            runs.append(run)
        else:
            run, below = by_folder[of_rank[0]], f"{of_rank[1]}/"
        run.files[below + names.RUN_JSON] = record
        inside = [p for p in loose if p is not record and _is_below(p.name, folder)]
        used = {id(record)} | {
            id(part) for part in inside if _put(run, part, by_name=True, below=below)
        }
        loose = [part for part in loose if id(part) not in used]
    return runs, loose


def _by_jobs(parts: list[Part]) -> tuple[list[RunParts], list[Part]]:
    """A run for each job of several ranks among the traces, and the files that are in none."""
    runs = _ranked([part for part in parts if part.role is Role.TRACE])
    used = {id(part) for run in runs for part in run.files.values()}
    return runs, [part for part in parts if id(part) not in used]


def _leading(parts: list[Part], *, is_alone: bool) -> list[Part]:
    """The files that are a run each: traces.

    Args:
        parts: that belong to no run yet.
        is_alone: no run was made of anything else; snapshots without traces are then compared as
            traces are, and samples of GPUs without snapshots.
    """
    for role in (Role.TRACE, Role.MEMORY_SNAPSHOT, Role.NVML) if is_alone else (Role.TRACE,):
        leading = [part for part in parts if part.role is role]
        if leading:
            return leading
    return []


def _assigned_to_runs(
    parts: list[Part], runs: list[RunParts]
) -> tuple[list[str], tuple[Part, ...]]:
    """Put files to the run that each fits.

    Returns:
        A sentence for each that fits none, or whose run has one already, and the compiler's logs
        whose run is unknown.
    """
    notes: list[str] = []
    unclear = []
    for part in parts:
        fits = _fitting(part, runs)
        if len(fits) == 1:
            notes += give(part, fits[0])
        elif part.role in OF_THE_COMPILER:
            unclear.append(part)
        else:
            notes.append(not_clear(part, len(runs)))
    return notes, tuple(unclear)


def _order(record: Part, rank_folders: Mapping[str, tuple[str, str]]) -> tuple[int, bool, str]:
    return record.name.count("/"), _folder(record.name) in rank_folders, record.name


def _ranked(traces: list[Part]) -> list[RunParts]:
    """One run for each job of several ranks among the traces; its lowest rank leads."""
    runs = []
    for job in jobs_among([(part.name, part.path) for part in traces]):
        parts = [traces[index] for index in job.values()]
        run = RunParts(job_name([part.name for part in parts]))
        for rank, part in zip(job, parts, strict=True):
            _put(run, part, below="" if part is parts[0] else f"ranks/{rank}/")
        runs.append(run)
    return runs


_OF_NO_INTEREST = re.compile(r"heartbeat|capture\.json|progress\.jsonl|meta\.json|\..*")


def _left_out(part: Part) -> str | None:
    """Why the file is in no run, a sentence; None: it belongs to one, or is of no interest."""
    if part.kind is not None:
        if part.role is not Role.NOT_READ:
            return None
        return f"{part.label} is {part.kind.description}, and was left out. {part.kind.remedy}"
    if _OF_NO_INTEREST.fullmatch(_last(part.name)):
        return None
    if is_empty(part.path):
        return f"{part.label} is empty, and was left out."
    return f"{part.label} is not a file type that Fusionscope reads, and was left out."


def _fitting(part: Part, runs: list[RunParts]) -> list[RunParts]:
    """The runs that a log's or samples' name fits best; none where it has no word of any."""
    if len(runs) == 1:
        return runs
    shared = [len(_words(part.name) & _words(run.trace.name)) if run.trace else 0 for run in runs]
    best = max(shared)
    return [run for run, n in zip(runs, shared, strict=True) if n == best and n > 0]


def give(part: Part, run: RunParts) -> list[str]:
    """Put the file to this run. Returns a sentence where the run has such a file already."""
    if _put(run, part):
        return []
    return [f"{part.label}: the run {run.name} has {_of_kind(part)} already."]


def not_clear(part: Part, n_traces: int) -> str:
    """Why a file was left out that nothing ties to one of several traces."""
    return (
        f"{part.label} is {_of_kind(part)}, but it is unclear to which of the {n_traces} traces "
        "it belongs: name it like its trace, or put both into one folder."
    )


def _of_kind(part: Part) -> str:
    assert part.kind is not None  # noqa: S101 - the callers pass known kinds only
    return part.kind.description


def _put(run: RunParts, part: Part, *, by_name: bool = False, below: str = "") -> bool:
    """Give the file its place in the run. False: it is unknown, or the place is taken."""
    bare = _last(part.name).removesuffix(".gz")
    ending = ".gz" if part.role is not Role.RECORD and _is_gzipped(part.path) else ""
    if by_name and bare in _BY_NAME:
        stored_name = _BY_NAME[bare] + ending
    elif part.kind is None or part.kind.stored_as is None:
        return False
    elif part.kind.several:
        stem = part.kind.stored_as
        n_there = sum(name.startswith(f"{below}{stem}/") for name in run.files)
        stored_name = f"{stem}/{n_there}{part.kind.endings[0]}{ending}"
    else:
        stored_name = part.kind.stored_as + ending
    stored_name = below + stored_name
    bare_places = {name.removesuffix(".gz") for name in run.files}
    if stored_name.removesuffix(".gz") in bare_places:
        return False
    run.files[stored_name] = part
    return True


def _is_gzipped(path: Path) -> bool:
    with path.open("rb") as file:
        return packing_of(file.read(8)) is Packing.GZIP


def display_names(paths: list[str]) -> list[str]:
    """Short, distinct names: without endings, with folders only where they tell more."""
    whole = [_without_endings(name) for name in paths]
    bare = [shown(name) for name in whole]
    short = [shown(_last(name)) for name in whole]
    folder = [shown(_last(_folder(name)) or _last(name)) for name in whole]
    for candidate in (short, folder):
        if len(set(candidate)) == len(candidate) and "trace" not in candidate:
            return candidate
    if len(set(bare)) == len(bare):
        return bare
    return [f"{name} ({n})" for n, name in enumerate(bare, start=1)]


def _without_endings(name: str) -> str:
    all_endings = (*PACKED_ENDINGS, *endings())
    while ending := next((e for e in all_endings if name.lower().endswith(e) and name != e), None):
        name = name[: -len(ending)]
    return name or "unnamed"


def _words(name: str) -> set[str]:
    words = set(re.split(r"[^a-z0-9]+", _without_endings(name).lower()))
    return words - usual_words() - {""}


def _folder(name: str) -> str:
    return str(PurePosixPath(name).parent).removeprefix(".")


def _last(name: str) -> str:
    return PurePosixPath(name).name


def _is_below(name: str, folder: str) -> bool:
    """In the folder itself, or in its `torch_trace`."""
    return _folder(name) in (folder, f"{folder}/{names.TORCH_TRACE}".lstrip("/"))
