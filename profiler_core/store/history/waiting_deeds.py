"""Deeds that were done while the database was away: kept in a file of the home, then recorded.

A sign-in, a look or a download must not fail because the database does, and must not be missed
by the audit either. One line of JSON a deed, written whole and on the disk before the deed.
"""

import contextlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from profiler_core.home import home_directory
from profiler_core.store.history.audit import note, with_means
from profiler_core.store.history.database import HistoryUnavailable, writing
from profiler_core.store.history.moments import now
from profiler_core.store.history.tables import audit

_log = logging.getLogger(__name__)

_FILE = "audit_waiting.jsonl"


def note_or_keep(person: str, action: str, subject: str, **detail: Any) -> None:
    """Record a deed now, or keep it for when the database is back.

    Raises:
        OSError: neither is possible; the deed must not happen then.
    """
    try:
        record_kept()
        with writing() as connection:
            note(connection, person, action, subject, **detail)
    except HistoryUnavailable:
        entry = {"at": now(), "person": person, "action": action, "subject": subject}
        _append(json.dumps({**entry, "detail": with_means(detail)}))


def files_of_waiting_deeds() -> tuple[Path, ...]:
    """The files that hold deeds which are not recorded yet."""
    return tuple(sorted(home_directory().glob(f"{_FILE}*")))


def is_file_of_waiting_deeds(name: str) -> bool:
    """Is it the name of such a file?"""
    return "/" not in name and (name == _FILE or name.startswith(f"{_FILE}."))


def record_kept() -> int:
    """Record what was kept, each with the moment of its deed; returns how many.

    A process that dies between the database and the file leaves entries that are recorded
    twice, never one that is lost.

    Raises:
        HistoryUnavailable: the database is still away.
    """
    folder = home_directory()
    waiting = folder / _FILE
    if waiting.is_file():
        taken_name = f"{_FILE}.{os.getpid()}.{now().replace(':', '')}.taken"
        with contextlib.suppress(FileNotFoundError):  # another process took it meanwhile
            waiting.rename(folder / taken_name)
    n_recorded = 0
    for taken in sorted(folder.glob(f"{_FILE}.*.taken")):
        entries = _entries(taken)
        with writing() as connection:
            if entries:
                connection.execute(insert(audit), entries)
        taken.unlink(missing_ok=True)
        n_recorded += len(entries)
    return n_recorded


def _entries(path: Path) -> list[Mapping[str, Any]]:
    try:
        lines = path.read_text("utf-8").splitlines()
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
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        # A line of its own also after one that was not written whole.
        os.write(handle, b"\n" + line.encode() + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)
