"""The job of a path or URL: finds its rank traces, summarises each, and combines them."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from profiler_core.analysis.ranks.job import Job, combine
from profiler_core.analysis.ranks.rank_summary import RankSummary
from profiler_core.ranks.cluster import summaries_on
from profiler_core.ranks.find import RankFiles, find_ranks
from profiler_core.ranks.local import summaries_here

# Called with (ranks done, ranks in all). To cancel, raise `errors.Cancelled` in it.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class LocatedJob:
    """A job and the rank files that it was computed from."""

    rank_files: RankFiles
    job: Job


def job_at(
    location: str,
    *,
    scheduler: str | None = None,
    n_processes: int | None = None,
    progress: Progress | None = None,
) -> LocatedJob:
    """The job of the rank traces at a folder, a zip or a URL.

    Raises:
        BadInput: two files are of one rank, or a URL or a scheduler cannot be reached.
        NotARun: no trace lies there.
        Cancelled: `progress` asked for it; no process is left.
    """
    rank_files = find_ranks(location)
    return LocatedJob(rank_files, job_of(rank_files, scheduler, n_processes, progress))


def job_of(
    rank_files: RankFiles,
    scheduler: str | None = None,
    n_processes: int | None = None,
    progress: Progress | None = None,
) -> Job:
    """The job of these rank files; arguments and errors as of `job_at`."""
    reduced: Iterator[RankSummary] = (
        summaries_on(scheduler, rank_files.files)
        if scheduler
        else summaries_here(rank_files.files, n_processes)
    )
    summaries = []
    with closing(reduced):  # type: ignore[type-var]
        for summary in reduced:
            summaries.append(summary)
            if progress is not None:
                progress(len(summaries), len(rank_files.files))
    job = combine(summaries)
    return replace(job, notes=(*rank_files.notes, *job.notes))
