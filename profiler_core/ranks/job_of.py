"""The job of rank files: each rank is summarised by itself, then all are combined."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

from profiler_core.analysis.ranks.job import Job, combine
from profiler_core.analysis.ranks.rank_summary import RankSummary
from profiler_core.ranks.cluster import summaries_on
from profiler_core.ranks.find import RankFiles
from profiler_core.ranks.job_cache import cached_job, keep_job
from profiler_core.ranks.local import summaries_here

# Called with (ranks done, ranks in all). To cancel, raise `errors.Cancelled` in it.
Progress = Callable[[int, int], None]


def kept_job(
    rank_files: RankFiles,
    scheduler: str | None = None,
    n_processes: int | None = None,
    progress: Progress | None = None,
) -> Job:
    """The job as it lies in the cache, else as `job_of`, and then it lies there."""
    job = cached_job(rank_files)
    if job is None:
        job = job_of(rank_files, scheduler, n_processes, progress)
        keep_job(rank_files, job)
    return job


def job_of(
    rank_files: RankFiles,
    scheduler: str | None = None,
    n_processes: int | None = None,
    progress: Progress | None = None,
) -> Job:
    """The job of these files.

    Raises:
        BadInput: a scheduler cannot be reached, or a process was ended from outside.
        Cancelled: `progress` asked for it; no process is left.
    """
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
