"""The job of ranks: of a run, of a folder, a zip or a URL, of a whole capture.

Every surface asks here, so that all of them have one reading of the ranks and one combination.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from profiler_core import run_directory
from profiler_core.analysis.compilation.by_script import is_called_eager
from profiler_core.analysis.ranks.comparison import Measure, measures
from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.ranks.find import RankFiles, find_ranks
from profiler_core.ranks.job_cache import cache_path
from profiler_core.ranks.jobs_below import runs_inside, runs_packed
from profiler_core.ranks.rank_sets import record_in
from profiler_core.ranks.remote import is_url
from profiler_core.session.cache import SHARED, Cache
from profiler_core.session.rank_clocks import clocks_at
from profiler_core.session.reading import InProcess, Reading


@dataclass(frozen=True)
class PlacedJob:
    """A job and where its ranks lie."""

    source: str  # the location, as it was named or as it was found below one that was
    rank_files: RankFiles
    job: Job
    unprofiled_step_ns: float | None = None  # where it was timed

    @property
    def timed(self) -> Job:
        """The job along the rank that is awaited without the profiler, where it was timed."""
        return self.job.unprofiled(self.unprofiled_step_ns)


def jobs_at(location: str, reading: Reading | None = None) -> tuple[PlacedJob, ...]:
    """The jobs of a location, the baseline first: a whole capture holds several.

    Args:
        location: a run, a folder, a zip or a URL of rank traces, or a folder or a zip of such runs.
        reading: how the ranks are read; in this process by default.

    Raises:
        BadInput: two files are of one rank, or a URL or a scheduler cannot be reached.
        NotARun: no trace lies there.
        Cancelled: the reading was cancelled; no process is left.
    """
    jobs = []
    for source in _sources(location):
        rank_files = find_ranks(source)
        job = job_of_ranks(source, rank_files, reading or InProcess())
        job = job.at_clocks(clocks_at(source, rank_files))
        record = None if is_url(source) else record_in(Path(source))
        step_ns = step_time_ns(record.measurement) if record is not None else None
        jobs.append(PlacedJob(source, rank_files, job, step_ns))
    return tuple(jobs)


def job_of_ranks(
    source: str, rank_files: RankFiles, reading: Reading, cache: Cache = SHARED
) -> Job:
    """What these ranks say together, asked once for each state of their files."""
    kept_at = cache_path(rank_files, "job")
    if kept_at is None:  # of a remote store nobody knows when a file changed
        return reading.job(rank_files)
    key = ("job", str(kept_at))
    if key not in cache:
        reading.bring_job(source, rank_files)
    return cache.get(key, lambda: reading.job(rank_files))


def compared(jobs: Sequence[PlacedJob]) -> tuple[Measure, ...]:
    """Several jobs side by side; nothing of a single one."""
    return measures(tuple(placed.timed for placed in jobs)) if len(jobs) > 1 else ()


def _sources(location: str) -> list[str]:
    path = Path(location).expanduser()
    if is_url(location) or not path.exists() or (path / run_directory.RUN_JSON).is_file():
        return [location]
    inside = runs_inside(path) if path.is_dir() else runs_packed(path)
    return [str(job) for job in sorted(inside, key=_comes_later)] or [location]


def _comes_later(job: Path) -> bool:
    """True unless the role, or without a record the name, says that it is the baseline."""
    record = record_in(job)
    if record is None or record.role is None:
        return not is_called_eager(job.name, record)
    return record.role != "baseline"
