"""The jobs behind the page: put together once by a process of their own, shared by sessions."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from profiler_core.analysis.ranks.job import Job
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.ranks.find import RankFiles, find_ranks, has_ranks
from profiler_core.ranks.job_cache import cache_path, cached_job
from profiler_core.ranks.rank_sets import ranks_beside
from profiler_core.session.cache import SHARED
from profiler_core.store import server_path
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice
from profiler_core.ui.server import is_local_server
from profiler_core.ui.trace_reader import TraceReaders

_MODULE = "profiler_core.ranks"


@dataclass(frozen=True)
class SeenJob:
    """One chosen run of several ranks. number: its place among the chosen runs."""

    number: int
    label: str
    entry: Entry
    path: Path  # the run directory, or the folder of rank traces
    found: RankFiles
    job: Job


@dataclass(frozen=True)
class Seen:
    """The chosen runs of several ranks, and why the others are not among them."""

    jobs: tuple[SeenJob, ...]
    without: tuple[str, ...]
    problems: tuple[tuple[str, str], ...]  # (problem, remedy)


def seen_jobs(choice: Choice) -> Seen:
    """The jobs of all chosen runs; shows progress while one is read for the first time."""
    jobs: list[SeenJob] = []
    problems: list[tuple[str, str]] = []
    without: list[tuple[str, Entry]] = []
    for number, (label, entry) in enumerate(zip(choice.labels, choice.entries, strict=True)):
        path = choice.comparison.runs[number].path
        if not (path.is_dir() and has_ranks(path) and _may_be_read(entry, path)):
            without.append((label, entry))
            continue
        try:
            rank_files = find_ranks(str(path))
            job = _job(rank_files, str(path), label)
            jobs.append(SeenJob(number, label, entry, path, rank_files, job))
        except FusionscopeError as error:
            problems.append((f"{label}: {error.problem}", error.remedy))
    return Seen(tuple(jobs), _reasons(without), tuple(problems))


def _may_be_read(entry: Entry, path: Path) -> bool:
    """Ranks that lie beside a run must lie below the folders that this server may open, too."""
    if entry.origin != "path":
        return True
    allowed = server_path.roots(is_local=is_local_server())
    beside = (rank.resolve() for rank in ranks_beside(path).values())
    return all(any(rank.is_relative_to(root) for root in allowed) for rank in beside)


def _reasons(without: list[tuple[str, Entry]]) -> tuple[str, ...]:
    """Why these runs have no ranks to show; runs of one process are said together."""
    single = [label for label, entry in without if entry.run.world_size < 2]
    reasons = [
        f"{label}: only rank {entry.run.rank} of {entry.run.world_size} is here."
        for label, entry in without
        if entry.run.world_size > 1
    ]
    if single:
        shown = " and ".join(", ".join(single).rsplit(", ", 1))
        each = " each" if len(single) > 1 else ""
        reasons.append(f"{shown} ran as one process{each}, so there is nobody to wait for.")
    return tuple(reasons)


def _job(files: RankFiles, path: str, label: str) -> Job:
    cached_at = cache_path(files, "job")
    if cached_at is None or not cached_at.is_file():
        shown = st.empty()
        for progress in _readers().read(Path(path)):
            n_read, total = progress.done or 0, progress.total or len(files.files)
            shown.progress(progress.share, text=f"Reading {n_read} of {total} ranks of {label}")
        shown.empty()

    def loaded() -> Job:
        job = cached_job(files)
        if job is None:
            raise BadInput(f"The ranks of {label} could not be kept.", remedy="Reload the page.")
        return job

    return SHARED.get(("job", str(cached_at)), loaded)


@st.cache_resource(show_spinner=False)
def _readers() -> TraceReaders:
    return TraceReaders(_MODULE)
