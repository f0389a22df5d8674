"""What a server rests on: can it be used at this moment? Each check raises where it cannot."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from profiler_core.home import cache_directory, home_directory, jobs_directory
from profiler_core.jobs.room import KEEP_FREE_BYTES
from profiler_core.jobs.state import check_queue
from profiler_core.settings import settings
from profiler_core.units import format_bytes


def check_settings() -> None:
    """The owner's file can be read.

    Raises:
        BadInput: it cannot.
    """
    settings()


def check_database() -> None:
    """The history answers.

    Raises:
        BadInput: it does not, or a newer version wrote it.
    """
    from profiler_core.store.history import database  # 0.2 s of the server's start

    database.ping()


def check_disk() -> None:
    """The home can be written, and its disk has the room that a large trace needs.

    Raises:
        OSError: one is not so.
    """
    _write_into(home_directory())
    free = shutil.disk_usage(home_directory()).free
    if free < KEEP_FREE_BYTES:
        raise OSError(f"{home_directory()} has only {format_bytes(free)} left")


def check_cache() -> None:
    """The folder of columns can be written.

    Raises:
        OSError: it cannot.
    """
    _write_into(cache_directory())


def _write_into(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"ready?")


def check_jobs() -> None:
    """Jobs are taken and looked after.

    Raises:
        BadInput: the queue is full, or some were never started.
        OSError: its folder cannot be written.
    """
    _write_into(jobs_directory())
    check_queue()


CHECKS: Mapping[str, Callable[[], None]] = {
    "settings": check_settings,
    "database": check_database,
    "queue": check_jobs,
    "disk": check_disk,
    "cache": check_cache,
}
