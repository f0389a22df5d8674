"""The file of the kept list: its tables, and transactions on it.

Without a write-ahead log, so that it may lie where the home does, on a network drive too, and
without waiting for the disk: what a power cut damages is made again from the folders.
"""

import atexit
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.home import home_directory

_FILE = "library.sqlite3"
# Counted up with every change below, and of what `abridged` keeps: the list is made again then.
_SCHEMA = 2
_WAIT_S = 20.0
_ASIDE: dict[Path, Path] = {}  # home -> the file that stands in for its list
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_UNWRITABLE = (
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_READONLY_DIRECTORY, sqlite3.SQLITE_PERM,
)  # fmt: skip

# `payload` is apart: a search reads each row of `captures`, and must not read the records.
_TABLES = """
CREATE TABLE roots (prefix TEXT PRIMARY KEY, path TEXT, changed_ns INTEGER);
CREATE TABLE captures (
    key TEXT PRIMARY KEY,
    prefix TEXT,
    folder TEXT,
    origin TEXT,
    is_own INTEGER,          -- a capture or an upload, no sample
    is_listed INTEGER,       -- it has a run, and stands for no other's rank
    created_at TEXT,
    title TEXT,
    words TEXT,              -- that a search finds it by, in lower case
    lines TEXT,              -- JSON: key, label, variant and workload of each run
    sweep TEXT,              -- the key of its sweep
    n_readable INTEGER,
    is_job INTEGER,          -- a run of it has several ranks
    is_alone INTEGER,        -- the folder itself is the run
    folder_changed_ns INTEGER,
    stamp TEXT,
    runs_now INTEGER,        -- a run of it runs, or seems lost
    unsettled_until REAL     -- until then its stamp is compared at each look, seconds since 1970
);
CREATE TABLE payloads (key TEXT PRIMARY KEY, payload BLOB);
CREATE TABLE runs (
    key TEXT PRIMARY KEY, capture TEXT, run_id TEXT, is_ended INTEGER, recorded_in TEXT
);
CREATE UNIQUE INDEX captures_folder ON captures (prefix, folder);
CREATE INDEX captures_origin ON captures (is_listed, origin, created_at DESC, key);
CREATE INDEX captures_own ON captures (is_listed, is_own, created_at DESC, key);
CREATE INDEX captures_jobs ON captures (is_listed, is_job, is_own DESC, created_at DESC, key);
CREATE INDEX captures_sweep ON captures (is_listed, sweep, created_at) WHERE sweep IS NOT NULL;
CREATE INDEX captures_unsettled ON captures (unsettled_until);
CREATE INDEX runs_capture ON runs (capture);
CREATE INDEX runs_recorded ON runs (is_ended, recorded_in);
"""


def list_path() -> Path:
    """Where the list lies; aside where the home cannot be written."""
    home = home_directory()
    return _ASIDE.get(home, home / _FILE)


@contextmanager
def transaction(*, writing: bool = False) -> Iterator[sqlite3.Connection]:
    """One moment of the list; what is written appears whole or not at all.

    Raises:
        BadInput: the list was damaged, or another process does not let go of it.
    """
    with closing(_begun(writing=writing)) as connection:
        try:
            yield connection
            connection.commit()
        except sqlite3.DatabaseError as error:
            raise _unusable(error) from error


def _begun(*, writing: bool) -> sqlite3.Connection:
    try:
        return _opened(list_path(), writing=writing)
    except (sqlite3.DatabaseError, OSError) as error:
        if isinstance(error, sqlite3.DatabaseError) and error.sqlite_errorcode not in _UNWRITABLE:
            raise _unusable(error) from error
    return _opened(_aside(home_directory()), writing=writing)


def _unusable(error: sqlite3.DatabaseError) -> BadInput:
    file = list_path()
    if getattr(error, "sqlite_errorcode", None) in _DAMAGED:
        file.unlink(missing_ok=True)  # what it said, the folders say
        return BadInput(
            f"The list of runs in {file} was damaged.",
            remedy="Reload: it is made again from the folders.",
        )
    return BadInput(
        f"The list of runs in {file} cannot be used: {error}.",
        remedy="Reload; if it stays so, delete that file: it is made again from the folders.",
    )


def _opened(file: Path, *, writing: bool) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(file, timeout=_WAIT_S, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA synchronous = OFF")
        if _schema(connection) != _SCHEMA:
            _make(connection)
        connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
    except BaseException:
        connection.close()
        raise
    return connection


def _schema(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _make(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if _schema(connection) != _SCHEMA:  # else another process was faster
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            connection.execute(f"DROP TABLE {name}")
        for statement in filter(str.strip, _TABLES.split(";\n")):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_SCHEMA}")
    connection.commit()


def _aside(home: Path) -> Path:
    """For this process alone: the home cannot be written, or its disk is full."""
    if home not in _ASIDE:
        folder = Path(tempfile.mkdtemp(prefix="fusionscope-list-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _ASIDE[home] = folder / _FILE
    return _ASIDE[home]
