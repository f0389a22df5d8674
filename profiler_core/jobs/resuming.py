"""Jobs whose supervisor was killed, and those that ended long ago; any number of servers may look.

What may start again does so from the beginning: an ingest from the received files. A capture and
an experiment are marked as interrupted, and what they measured stays: nobody may have asked for
that machine's time any more.
"""

import contextlib
import logging
import os
import shutil
import time
from pathlib import Path
from threading import Event

import msgspec

from profiler_core import home
from profiler_core.errors import FusionscopeError
from profiler_core.jobs import directory as files
from profiler_core.jobs.directory import LIVE_STATES
from profiler_core.jobs.service import after_interruption, job_directories
from profiler_core.jobs.starting import start_supervisor
from profiler_core.settings import settings
from profiler_core.worker.environment import child_environment

_LOOK_EVERY_S = 5.0
_TIDY_EVERY_S = 3600.0
_HALF_MADE_AFTER_S = 60.0  # a job is made in milliseconds
_KEEP_READ_S = 24 * 3600.0  # its columns are in the cache: nobody asks for the job

_log = logging.getLogger(__name__)


def look_after_jobs(stopped: Event) -> None:
    """Resume and tidy up, again and again until `stopped`; a thread of each server does it."""
    tidied_at = 0.0
    while not stopped.wait(0 if not tidied_at else _LOOK_EVERY_S):
        try:
            resume_interrupted()
            if time.monotonic() - tidied_at > _TIDY_EVERY_S or not tidied_at:
                tidied_at = time.monotonic()
                tidy_up()
        except (FusionscopeError, OSError) as error:
            tidied_at = tidied_at or time.monotonic()
            _log.warning("Jobs are not looked after: %s", error)


def resume_interrupted() -> tuple[str, ...]:
    """Start what was interrupted and can start again, end the rest; the ids of those started.

    Raises:
        OSError: the home cannot be written.
    """
    started = []
    for directory, begun_at in files.live_directories(home.jobs_directory()).items():
        try:
            if _resumed(directory, begun_at):
                started.append(directory.name)
        except (FusionscopeError, OSError) as error:  # the next look tries again
            _log.warning("%s could not be started again: %s", directory.name, error)
    return tuple(started)


def _resumed(directory: Path, begun_at: float) -> bool:
    """Was this job started again?"""
    try:
        spec = files.read_spec(directory)
    except (OSError, msgspec.MsgspecError):
        _forget_half_made(directory, begun_at)
        return False
    if files.is_supervised(directory, spec):
        return False
    try:
        alive = files.hold_alive(directory)
    except BlockingIOError:  # another server does just this
        return False
    with contextlib.ExitStack() as held:
        held.callback(os.close, alive)
        status = _status(directory)
        if status.state in LIVE_STATES:
            status = after_interruption(directory, spec, status)
            files.write(directory, status)
        if status.state not in LIVE_STATES:
            files.unmark_live(directory)
            return False
        held.pop_all()  # the supervisor has it from here
    start_supervisor(directory, alive, _environment(spec))
    return True


def _status(directory: Path) -> files.JobStatus:
    """What was written last; where a power cut left nothing of it, a job that began nothing yet."""
    try:
        return files.read_status(directory)
    except (FileNotFoundError, msgspec.MsgspecError):
        return files.JobStatus(state="queued")


def _forget_half_made(directory: Path, begun_at: float) -> None:
    """Delete a job whose maker was killed; never one that somebody holds, a newer version say."""
    if time.time() - begun_at <= _HALF_MADE_AFTER_S:
        return
    if directory.is_dir():
        try:
            os.close(files.hold_alive(directory))
        except BlockingIOError:
            return
        shutil.rmtree(directory, ignore_errors=True)
    files.unmark_live(directory)


def _environment(spec: files.JobSpec) -> dict[str, str]:
    """What the job gets when it starts again: as when it was submitted."""
    if spec.kind not in files.MEASURING:
        return child_environment(spec.needs)
    return child_environment(
        kept_names=settings().capture_variables, is_own_machine=spec.is_own_machine
    )


def tidy_up(now_s: float | None = None) -> None:
    """Delete jobs that ended long ago: captures keep their runs, which lie elsewhere.

    Args:
        now_s: seconds since the epoch; None: now.
    """
    now = time.time() if now_s is None else now_s
    keep_s = settings().jobs.keep_days * 24 * 3600.0
    live = files.live_directories(home.jobs_directory())
    for directory in job_directories():
        if directory in live:
            continue
        ended_at, is_read = _ended(directory)
        age_s = now - ended_at
        if age_s > keep_s or (is_read and age_s > _KEEP_READ_S):
            shutil.rmtree(directory, ignore_errors=True)


def _ended(directory: Path) -> tuple[float, bool]:
    """When it ended, seconds since the epoch; and whether a file was read, with success."""
    job = files.read_job(directory)
    if job is None:
        return directory.stat().st_mtime, False
    spec, status = job
    return status.ended_at or spec.submitted_at, (spec.kind, status.state) == ("read", "finished")
