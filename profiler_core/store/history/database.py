"""Which database the history lies in, and transactions on it.

SQLite below the home without any set-up: write-ahead log, so that readers never wait for a
writer, and writers wait for each other instead of failing. One URL names a PostgreSQL for a team.
Every error of a database leaves here as a problem and a remedy, without the password.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DataError, IntegrityError, SQLAlchemyError

from profiler_core.errors import BadInput, ServerFault
from profiler_core.home import history_file, home_directory
from profiler_core.settings import settings
from profiler_core.store.history.migrate import HEAD, check_schema, migrate, version_of

_WAIT_S = 30.0  # for another writer; a transaction of ours takes milliseconds
_WRITING = "fusionscope_writing"
UNFINISHED = "restore_unfinished"  # in a home, while a backup is put into it
_ENGINES: list[Engine] = []


class _Opened(NamedTuple):
    """A database with the schema of this version. file: which one it is, of SQLite."""

    engine: Engine
    file: tuple[int, int] | None


class HistoryUnavailable(ServerFault):
    """The database cannot be reached, or cannot be used by this version."""


def database_url() -> URL:
    """Of the environment or the settings; without either, `<home>/history.sqlite3`.

    Raises:
        BadInput: it is no URL, or of a database that is not supported.
    """
    configured = settings().database_url
    if configured is None:
        return URL.create("sqlite", database=str(history_file()))
    try:
        url = make_url(configured)
    except ArgumentError as error:
        raise BadInput(
            "The URL of the history's database cannot be understood.",
            remedy="Write it as postgresql://user:password@host/database.",
        ) from error
    kind = url.get_backend_name()
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite" or not url.database:
        raise BadInput(
            f"The history cannot be kept in {kind}.",
            remedy="Use a postgresql:// URL, or leave it out for SQLite.",
        )
    return url


def where() -> str:
    """The database, as it may be shown: without a password."""
    return database_url().render_as_string(hide_password=True)


@contextmanager
def reading() -> Iterator[Connection]:
    """A transaction that only reads: one moment of the history.

    Raises:
        HistoryUnavailable: the database cannot be used.
    """
    with _as_unavailable(), _engine().connect() as plain:
        connection = plain
        if plain.dialect.name == "postgresql":  # else each statement would see a later moment
            connection = plain.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            yield connection


@contextmanager
def of_any_schema() -> Iterator[Connection]:
    """A connection that writes, to the database as it is, for whoever makes its tables.

    Raises:
        HistoryUnavailable: the database cannot be used.
    """
    with _as_unavailable():
        engine = _new_engine(database_url())
        try:
            with engine.connect() as plain:
                yield plain.execution_options(**{_WRITING: True})
        finally:
            engine.dispose()


@contextmanager
def writing() -> Iterator[Connection]:
    """A transaction that is kept whole or not at all, also under kill -9.

    Raises:
        HistoryUnavailable: the database cannot be used. What a constraint refuses
            (`sqlalchemy.exc.IntegrityError`) is for the caller.
    """
    with _as_unavailable(), _engine().connect() as plain:
        connection = plain.execution_options(**{_WRITING: True})
        with connection.begin():
            yield connection


def ping() -> None:
    """Ask the database for an answer.

    Raises:
        HistoryUnavailable: it gives none.
    """
    with reading() as connection:
        connection.execute(text("SELECT 1"))


def check() -> None:
    """Could a server work with this database? Neither makes nor upgrades it, as `ping` does.

    Raises:
        HistoryUnavailable: it cannot be reached.
        BadInput: a newer version wrote it, or its URL is of none.
    """
    url = database_url()
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        return  # made with the first run
    engine = _new_engine(url)
    try:
        with _as_unavailable(), engine.connect() as connection:
            check_schema(connection)
    finally:
        engine.dispose()


def close_all() -> None:
    """Close the connections of this process; the next transaction opens new ones."""
    for engine in _ENGINES:
        engine.dispose()
    _ENGINES.clear()
    _migrated.cache_clear()


@contextmanager
def _as_unavailable() -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise
    except (UnicodeEncodeError, DataError) as error:  # half a character; a NUL, of PostgreSQL
        raise BadInput(
            "The history takes no such text: it holds half a character, or a NUL.",
            remedy="Leave out what is no text.",
        ) from error
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        first_line = next(iter(str(cause).strip().splitlines()), type(cause).__name__)
        raise HistoryUnavailable(
            f"The history in {where()} cannot be used: {first_line[:300]}.",
            remedy="Check that the database runs, that it may be written to, and its URL.",
        ) from error


def _engine() -> Engine:
    url = database_url().render_as_string(hide_password=False)
    opened = _migrated(url, os.getpid())
    file = _file_of(opened.engine)
    if file is None and opened.file is not None:
        # A pool writes into the file wherever that is now, and makes an empty one beside it.
        raise HistoryUnavailable(
            f"{opened.engine.url.database} was moved or deleted while this process works with it.",
            remedy="Put it back where it was, or start again what uses it.",
        )
    if file != opened.file:  # another one lies there: what goes into the first, nobody sees again
        close_all()
        opened = _migrated(url, os.getpid())
    return opened.engine


def _file_of(engine: Engine) -> tuple[int, int] | None:
    """Which file an SQLite's is, wherever it is moved; None: it is not there, or no file's."""
    if engine.dialect.name != "sqlite":
        return None
    try:
        status = Path(str(engine.url.database)).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


# A connection must not be shared with a forked child, so the process is part of the key.
@lru_cache(maxsize=8)
def _migrated(url: str, process: int) -> _Opened:
    del process
    if (home_directory() / UNFINISHED).exists():
        raise HistoryUnavailable(
            f"A backup is being restored into {home_directory()}, or that was interrupted.",
            remedy="Wait for its end; where none runs, restore the same backup once more: it goes "
            "on where it ended.",
        )
    engine = _new_engine(make_url(url))
    _ENGINES.append(engine)
    with engine.connect() as plain:
        if version_of(plain) != HEAD:  # asked as a reader, who waits for no writer
            migrate(plain.execution_options(**{_WRITING: True}))
    return _Opened(engine, _file_of(engine))


def _new_engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    try:
        return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    except ModuleNotFoundError as error:
        raise HistoryUnavailable(
            "The driver of PostgreSQL is not installed.",
            remedy='Install it: pip install "psycopg[binary]".',
        ) from error


def _sqlite(url: URL) -> Engine:
    if url.database:
        home_directory().mkdir(parents=True, exist_ok=True)
    engine = create_engine(url, connect_args={"timeout": _WAIT_S})

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        # Python's module would begin transactions by itself, and not around DDL.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        _use_write_ahead_log(connection)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer takes its lock first: upgrading a reader's lock later could only fail.
        is_writing = connection.get_execution_options().get(_WRITING)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")

    return engine


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Once for a file, which keeps it. SQLite does not wait here by itself when two try at once."""
    deadline = time.monotonic() + _WAIT_S
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
