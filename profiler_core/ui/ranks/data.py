"""The jobs behind the page: those of the chosen runs that ran as several ranks."""

from dataclasses import dataclass
from pathlib import Path

from profiler_core.analysis.ranks.job import Job
from profiler_core.guarded_open import is_open_below
from profiler_core.ranks.find import RankFiles
from profiler_core.ranks.rank_sets import ranks_beside
from profiler_core.session.run import Run
from profiler_core.store import server_path
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice
from profiler_core.ui.server import is_local_server


@dataclass(frozen=True)
class ChosenJob:
    """One chosen run of several ranks. number: its place among the chosen runs."""

    number: int
    label: str
    entry: Entry
    path: Path  # the run directory, or the folder of rank traces
    rank_files: RankFiles
    job: Job


@dataclass(frozen=True)
class ChosenJobs:
    """The chosen runs of several ranks, and why the others are not among them."""

    jobs: tuple[ChosenJob, ...]
    without: tuple[str, ...]
    problems: tuple[tuple[str, str], ...]  # (problem, remedy)


def chosen_jobs(choice: Choice) -> ChosenJobs:
    """The jobs of all chosen runs; shows progress while one is read for the first time."""
    jobs: list[ChosenJob] = []
    problems: list[tuple[str, str]] = []
    without: list[tuple[str, Run]] = []
    for number, (label, entry) in enumerate(zip(choice.labels, choice.entries, strict=True)):
        run = choice.comparison.runs[number]
        if not _may_be_read(entry, run.path):
            without.append((label, run))
            continue
        rank_files, job, unreadable = run.rank_files, run.job, run.problems("ranks")
        if rank_files is not None and job is not None:
            jobs.append(ChosenJob(number, label, entry, run.path, rank_files, job))
        elif not unreadable:
            without.append((label, run))
        problems += [(f"{label}: {problem.problem}", problem.remedy) for problem in unreadable]
    return ChosenJobs(tuple(jobs), _reasons(without), tuple(problems))


def _may_be_read(entry: Entry, path: Path) -> bool:
    """Ranks that lie beside a run must lie below the folders that this server may open, too."""
    if entry.origin != "path":
        return True
    allowed = server_path.roots(is_local=is_local_server())
    beside = (rank.resolve() for rank in ranks_beside(path).values())
    return all(is_open_below(rank, allowed) for rank in beside)


def _reasons(without: list[tuple[str, Run]]) -> tuple[str, ...]:
    """Why these runs have no ranks to show; runs of one process are said together."""
    ranked = [(label, *run.rank_of_job) for label, run in without]
    reasons = [
        f"{label}: only rank {rank} of {n_ranks} is here."
        for label, rank, n_ranks in ranked
        if n_ranks > 1
    ]
    single = [label for label, _, n_ranks in ranked if n_ranks == 1]
    if single:
        shown = " and ".join(", ".join(single).rsplit(", ", 1))
        each = " each" if len(single) > 1 else ""
        reasons.append(f"{shown} ran as one process{each}, so there is nobody to wait for.")
    return tuple(reasons)
