"""What pushes left beside the run that the history has: a folder of its own for each of them.

What is pushed lies in a folder before it is recorded. Where each start of its job is killed in
between, the folder stays, and the same run that is pushed again is recorded from another one. A
copy goes once no push can be at it any more; the recorded files are read before, byte for byte.
"""

import contextlib
import logging
import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import select

from profiler_core import home
from profiler_core.errors import FusionscopeError
from profiler_core.jobs import directory as files
from profiler_core.model.history import RecordedRun
from profiler_core.store import incoming
from profiler_core.store.history import places
from profiler_core.store.history.database import writing
from profiler_core.store.history.integrity import difference
from profiler_core.store.history.packing import file_marks
from profiler_core.store.history.query import NOT_DELETED, recorded_keys, run_if_recorded
from profiler_core.store.history.tables import review_sides
from profiler_core.store.history.tables import runs as table
from profiler_core.store.history.trash_files import remove_directory
from profiler_core.store.records import read_record

_LEFT_AFTER_S = 24 * 3600.0  # a job is given up after three starts; a push by hand takes minutes
_log = logging.getLogger(__name__)


def sweep_copies(now_s: float | None = None) -> tuple[str, ...]:
    """Delete what was pushed a day ago, and is the copy of a run that lies here; returns the keys.

    Never what a row, a review or a live job names, nor the only whole files of a run.

    Args:
        now_s: seconds since the epoch; None: now.

    Raises:
        HistoryUnavailable: the database cannot be reached.
    """
    now = time.time() if now_s is None else now_s
    swept: list[str] = []
    for folder in _left(now):
        keys = {places.key_of(path): path for path in places.folders_in(folder)}
        runs = {key: path for key, path in keys.items() if key is not None and places.has_run(path)}
        recorded = recorded_keys(list(runs))
        for key, directory in runs.items():
            try:
                if key not in recorded and _is_swept(key, directory):
                    swept.append(key)
            except (FusionscopeError, OSError) as error:  # one folder keeps no other
                _log.warning("%s is not swept: %s", key, error)
    return tuple(swept)


def _left(now: float) -> Sequence[Path]:
    """The folders of pushes that nobody is at any more."""
    in_use = _words_of_live_jobs()
    left = []
    for folder in places.folders_in(home.uploads_directory()):
        if not incoming.is_upload_id(folder.name) or folder.is_symlink():
            continue
        with contextlib.suppress(FileNotFoundError):  # it came otherwise, or is deleted just now
            is_old = now - (folder / incoming.TO_RECORD).stat().st_mtime > _LEFT_AFTER_S
            is_received = incoming.incoming_directory(folder.name).exists()
            if is_old and not is_received and not any(folder.name in word for word in in_use):
                left.append(folder)
    return left


def _words_of_live_jobs() -> frozenset[str]:
    """What the jobs that run or wait are about, those that start again included."""
    words: set[str] = set()
    for directory in files.live_directories(home.jobs_directory()):
        job = files.read_job(directory)
        if job is not None:
            words |= {job[0].subject, *job[0].command}
    return frozenset(words)


def _is_swept(key: str, directory: Path) -> bool:
    recorded = run_if_recorded(read_record(directory, may_be_alive=False)[0].run_id)
    if recorded is None or recorded.key == key or not _holds_all(recorded, directory):
        return False
    with writing() as connection:
        # Locked: nobody records this folder for the run, or deletes the recorded one, meanwhile.
        row = select(table.c.key).where(
            table.c.run_id == recorded.run_id, NOT_DELETED, table.c.files_deleted_at.is_(None)
        )
        names = select(table.c.run_id).where(table.c.key == key)
        sides = select(review_sides.c.review_id).where(review_sides.c.key == key)
        if connection.scalar(row.with_for_update()) != recorded.key:
            return False
        if connection.scalar(names) is not None or connection.scalar(sides) is not None:
            return False
        remove_directory(directory)
    _log.info("%s was a copy of %s, and is swept.", key, recorded.key)
    return True


def _holds_all(recorded: RecordedRun, directory: Path) -> bool:
    """Do the files at the recorded run's place hold all that lies in this directory?"""
    own = places.directory_of_key(recorded.key)
    if own is None or not places.has_run(own) or own.resolve() == directory.resolve():
        return False
    there, here = file_marks(own), file_marks(directory)
    are_same = difference(there, here) == (None, None)
    return are_same and {m.sha256 for m in here} <= {m.sha256 for m in there}
