"""Deeds that were done while the database was away: kept in a file of the home, then recorded.

A sign-in, a look or a download must not fail because the database does, and must not be missed
by the audit either. One line of JSON a deed, written whole and on the disk before the deed.
"""

import contextlib
import json
import logging
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from profiler_core.errors import BadInput
from profiler_core.home import home_directory
from profiler_core.store.history.audit import bounded, note, with_means
from profiler_core.store.history.database import HistoryUnavailable, writing
from profiler_core.store.history.moments import now
from profiler_core.store.history.rows import stored
from profiler_core.store.history.tables import audit, recorded_deeds

try:
    import fcntl
except ImportError:  # Windows: one process at a time then
    fcntl = None  # type: ignore[assignment]

_log = logging.getLogger(__name__)

_FILE = "audit_waiting.jsonl"


class NotRecorded(BadInput):
    """Neither the database nor the home takes a deed, which must not happen then."""


def note_or_keep(person: str, action: str, subject: str, /, **detail: Any) -> None:
    """Record a deed now, or keep it for when the database is back.

    Raises:
        NotRecorded: neither is possible; the deed must not happen then.
    """
    try:
        record_kept()
        with writing() as connection:
            note(connection, person, action, subject, **detail)
    except HistoryUnavailable:
        entry = {"at": now(), "person": person, "action": action, "subject": bounded(subject)}
        try:
            _append(json.dumps(stored({**entry, "detail": with_means(detail)})))
        except OSError as error:
            raise NotRecorded(
                f"This cannot be recorded, and is not done without: the database is away, and "
                f"the server's folder does not take it either ({error.strerror}).",
                remedy="Whoever runs this server must bring its database back, or give its "
                "folder room and rights.",
            ) from error


def files_of_waiting_deeds() -> tuple[Path, ...]:
    """The files that hold deeds which are not recorded yet."""
    return tuple(sorted(home_directory().glob(f"{_FILE}*")))


def is_file_of_waiting_deeds(name: str) -> bool:
    """Is it the name of such a file?"""
    return "/" not in name and (name == _FILE or name.startswith(f"{_FILE}."))


def record_kept() -> int:
    """Record what was kept, each with the moment of its deed; returns how many.

    Each deed is recorded once, whichever processes do so at the same time and wherever one is
    killed: the name of its file is kept in the same transaction.

    Raises:
        HistoryUnavailable: the database is still away.
    """
    folder = home_directory()
    waiting = folder / _FILE
    if waiting.is_file():
        with contextlib.suppress(FileNotFoundError):  # another process took it meanwhile
            # By the time first, so that several are recorded in the order of their deeds.
            taken_name = f"{_FILE}.{time.time_ns():020}-{secrets.token_hex(16)}.taken"
            waiting.rename(folder / taken_name)
    n_recorded = 0
    for taken in sorted(folder.glob(f"{_FILE}.*.taken")):
        entries = _entries(taken)
        try:
            with writing() as connection:
                connection.execute(insert(recorded_deeds).values(file=taken.name, at=now()))
                if entries:
                    connection.execute(insert(audit), entries)
        except IntegrityError:  # another process did, or one that was killed right after
            entries = []
        taken.unlink(missing_ok=True)
        n_recorded += len(entries)
    return n_recorded


def _entries(path: Path) -> list[Mapping[str, Any]]:
    try:
        with path.open("rb") as file:
            _lock(file.fileno())  # somebody may be writing the last one
            lines = file.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:  # another process records them
        return []
    entries = []
    for line in filter(None, lines):
        try:
            entries.append(json.loads(line))
        except ValueError:  # the machine stopped while it was written, before its deed
            _log.error("A deed in %s was not written whole, and is not recorded.", path)
    return entries


def _append(line: str) -> None:
    path = home_directory() / _FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    while not _appended(path, line):  # it was taken between being opened and locked
        pass


def _appended(path: Path, line: str) -> bool:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        _lock(handle)
        try:
            if not os.path.samestat(os.fstat(handle), path.stat()):
                return False
        except FileNotFoundError:
            return False
        before = os.fstat(handle).st_size
        try:
            # A line of its own also after one that was not written whole.
            _write_whole(handle, b"\n" + line.encode() + b"\n")
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, before)
            raise
    finally:
        os.close(handle)
    return True


def _write_whole(handle: int, content: bytes) -> None:
    """A disk that fills up takes a part, and refuses the next one."""
    while content:
        content = content[os.write(handle, content) :]


def _lock(handle: int) -> None:
    """Until the file is closed."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX)
