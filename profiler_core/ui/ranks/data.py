"""The jobs behind the page: put together once by a process of their own, shared by sessions."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from profiler_core.analysis.ranks.job import Job
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.ranks.find import RankFiles, find_ranks, has_ranks
from profiler_core.ranks.kept import kept_job, place_of
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice
from profiler_core.ui.reading import read_run
from profiler_core.ui.trace_reader import TraceReaders

_MODULE = "profiler_core.ranks"


@dataclass(frozen=True)
class SeenJob:
    """One chosen run of several ranks. number: its place among the chosen runs."""

    number: int
    label: str
    entry: Entry
    path: Path  # the run directory
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
    jobs, without, problems = [], [], []
    for number, (label, entry) in enumerate(zip(choice.labels, choice.entries, strict=True)):
        path = read_run(entry).path
        if not (path.is_dir() and has_ranks(path)):
            without.append(_why(label, entry))
            continue
        try:
            found = find_ranks(str(path))
            job = _job(found, str(path), label)
            jobs.append(SeenJob(number, label, entry, path, found, job))
        except FusionscopeError as error:
            problems.append((f"{label}: {error.problem}", error.remedy))
    return Seen(tuple(jobs), tuple(without), tuple(problems))


def _why(label: str, entry: Entry) -> str:
    world = entry.run.world_size
    if world > 1:
        return f"{label}: only rank {entry.run.rank} of {world} is here."
    return f"{label} ran as one process, so there is nobody to wait for."


def _job(found: RankFiles, place: str, label: str) -> Job:
    kept = place_of(found, "job")
    if kept is None or not kept.is_file():
        shown = st.empty()
        for progress in _readers().read(Path(place)):
            done, total = progress.bytes_read or 0, progress.bytes_total or len(found.files)
            shown.progress(
                min(1.0, done / total), text=f"Reading {done} of {total} ranks of {label}"
            )
        shown.empty()
    job = _loaded(str(kept), found)
    if job is None:
        raise BadInput(f"The ranks of {label} could not be kept.", remedy="Reload the page.")
    return job


# Arguments that begin with _ are not part of the key.
@st.cache_resource(max_entries=16, show_spinner=False)
def _loaded(kept: str, _found: RankFiles) -> Job | None:
    del kept
    return kept_job(_found)


@st.cache_resource(show_spinner=False)
def _readers() -> TraceReaders:
    return TraceReaders(_MODULE)
