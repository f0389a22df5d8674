"""The queue as a whole, for who looks after a server: what runs, what waits, what is abandoned."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from profiler_core import home
from profiler_core.errors import BadInput
from profiler_core.jobs import directory as files
from profiler_core.jobs.directory import LIVE_STATES, JobSpec, JobStatus
from profiler_core.jobs.service import job_directories
from profiler_core.settings import settings

# A server looks after its jobs every 5 seconds; one that starts needs some more.
_ABANDONED_AFTER_S = 120.0


@dataclass(frozen=True)
class QueueState:
    """counts: (kind, "running" or "queued") -> jobs. oldest_wait_s: of those that wait, 0 without.

    n_abandoned: jobs that nobody looks after, for two minutes or longer.
    """

    counts: Mapping[tuple[str, str], int]
    oldest_wait_s: float
    n_abandoned: int

    @property
    def n_live(self) -> int:
        """Jobs that run or wait."""
        return sum(self.counts.values())


def queue_state(now_s: float | None = None) -> QueueState:
    """As it is now.

    Args:
        now_s: seconds since the epoch; None: now.
    """
    now = time.time() if now_s is None else now_s
    counts: Counter[tuple[str, str]] = Counter()
    oldest_s, n_abandoned = 0.0, 0
    for directory, begun_at in files.live_directories(home.jobs_directory()).items():
        record = files.read_job(directory)
        if record is None or not files.is_supervised(directory, record[0]):
            last = max(begun_at, files.heartbeat_at(directory) or 0.0)
            n_abandoned += now - last > _ABANDONED_AFTER_S
            continue
        spec, status = record
        if status.state in LIVE_STATES:
            counts[spec.kind, status.state] += 1
        if status.state == "queued":
            oldest_s = max(oldest_s, now - spec.submitted_at)
    return QueueState(counts, oldest_s, n_abandoned)


def check_queue() -> None:
    """Jobs are taken, and those that were taken are looked after.

    Raises:
        BadInput: it is not so, or the settings cannot be used.
    """
    state, most = queue_state(), settings().jobs.in_all
    if state.n_live >= most:
        raise BadInput(
            f"{state.n_live} jobs run or wait, and more are not taken.",
            remedy="Wait, or raise in_all of [jobs] in settings.toml.",
        )
    if state.n_abandoned:
        raise BadInput(
            f"{state.n_abandoned} jobs in {home.jobs_directory()} were not started for "
            f"{_ABANDONED_AFTER_S:.0f} s.",
            remedy="Read supervisor.log in their folders; is there memory for another process?",
        )


class EndedJobs:
    """Hands out each job that ends, once.

    Args:
        since_s: those that ended earlier are left out, seconds since the epoch.
    """

    def __init__(self, since_s: float) -> None:
        self._since_s = since_s
        self._seen: set[str] = set()

    def new(self) -> Iterator[tuple[JobSpec, JobStatus]]:
        """Those that ended since the last call."""
        directories = job_directories()
        self._seen &= {directory.name for directory in directories}  # others were tidied up
        for directory in directories:
            if directory.name in self._seen:
                continue
            try:
                written_at = (directory / files.STATUS).stat().st_mtime
            except OSError:  # being made
                continue
            record = files.read_job(directory) if written_at >= self._since_s else None
            if record is not None and record[1].state in LIVE_STATES:
                continue
            self._seen.add(directory.name)
            if record is not None:
                yield record
