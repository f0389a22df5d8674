"""A foreign SQLite file as tables: read only, within limits, and nothing in it is ever run.

Opened `mode=ro&immutable=1`: no lock, no journal and no file beside it is looked at. Views,
triggers, virtual tables and computed columns hold expressions of whoever made the file: only
stored columns of ordinary tables are read, schema functions are not trusted, and an authorizer
refuses every statement but a plain SELECT (https://www.sqlite.org/security.html).
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote

import polars as pl

from profiler_core.errors import BadInput, NotATrace
from profiler_core.ingest.limits import Meter
from profiler_core.ingest.nsight_systems.limits import DatabaseLimits

MAGIC = b"SQLite format 3\0"

_CHUNK_ROWS = 50_000
_TEXT_CHUNK_ROWS = 5_000  # each may have a text of some ten thousand characters
_ROOM_BYTES = 64 << 20
_LOOK_EVERY = 20_000  # steps of SQLite's machine between two looks at the clock: some ms
# Names of columns, and what SQLite says is wrong, may be no text at all.
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
_FUNCTIONS = {"substr", "count", "total", "max"}
_ORDINARY = 0  # `hidden` of PRAGMA table_xinfo; 1 is of virtual tables, 2 and 3 are computed


@dataclass(frozen=True)
class Field:
    """A column to read: the first of `columns` that is there; several as "[a,b,c]" if `joined`."""

    columns: tuple[str, ...]
    dtype: pl.DataType
    joined: bool = False


def integer(*columns: str) -> Field:
    """A whole number, null where it is none."""
    return Field(columns, pl.Int64())


def text(*columns: str) -> Field:
    """A text, cut to what the limits keep."""
    return Field(columns, pl.String())


def triple(*columns: str) -> Field:
    """Some numbers as one text, "[1568,1,1]", as Kineto writes them."""
    return Field(columns, pl.String(), joined=True)


class Database:
    """One file. `tables`: the stored columns of each ordinary table, under their exact names."""

    def __init__(
        self,
        path: Path,
        name: str,
        limits: DatabaseLimits | None = None,
        meter: Meter | None = None,
    ) -> None:
        """Open it. `meter` counts rows, where the caller has limits of its own.

        Raises:
            NotATrace: it is no SQLite file.
            BadInput: its schema is damaged.
        """
        self._name = name
        self._limits = limits or DatabaseLimits()
        self._n_bytes = path.stat().st_size
        self._ends_at = time.monotonic() + self._limits.seconds_for(self._n_bytes)
        self.damage: Counter[str] = Counter()  # what could not be read, a few words each
        self.n_rows = 0  # that were read so far
        self._meter = meter
        # Nothing is read before the first statement, so this fails for paths alone.
        self._connection = sqlite3.connect(
            f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True, isolation_level=None
        )
        try:
            self._protect()
            self.tables = self._ordinary_tables()
        except _DAMAGE as error:
            self._connection.close()
            raise self._refused(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def has(self, table: str, *columns: str) -> bool:
        """Is the table there, with all of these columns?"""
        return table in self.tables and self.tables[table].issuperset(columns)

    def n_about(self, table: str) -> int:
        """About how many rows a table has; 0 where it is not there. Costs one look-up."""
        if table not in self.tables:
            return 0
        with suppress(*_DAMAGE):
            row = self._connection.execute(f'SELECT max(_rowid_) FROM "{table}"').fetchone()  # noqa: S608
            if row and isinstance(row[0], int):
                return max(0, min(row[0], self._most_rows()))
        return 0

    def totals(self, table: str, key: str) -> list[tuple[object, int, float]]:
        """(value of `key`, rows, length of all of them in ns) for each value in the table."""
        if not self.has(table, key, "start", "end"):
            return []
        query = f'SELECT "{key}", count(*), total("end" - "start") FROM "{table}" GROUP BY 1'  # noqa: S608
        try:
            return list(self._connection.execute(query))
        except _DAMAGE as error:
            self._check_clock(error)
            return []  # reading the rows will say what is damaged

    def frames(
        self, table: str, fields: Mapping[str, Field], where: str = ""
    ) -> Iterator[pl.DataFrame]:
        """The rows of a table, some ten thousand at a time, in the order of the file.

        A column that the table lacks is null. A damaged page ends the table, and `damage` says so.

        Args:
            table: nothing comes of one that is not there.
            fields: name in the frame -> what to read.
            where: a condition made of constants and of columns that are there.

        Raises:
            BadInput: reading takes longer than the limits allow, has more rows, or needs more
                memory.
        """
        if table not in self.tables:
            return
        chosen = ", ".join(self._expression(table, field) for field in fields.values())
        query = f'SELECT {chosen} FROM "{table}"' + (f" WHERE {where}" if where else "")  # noqa: S608
        n_read = n_text = 0
        has_text = any(f.dtype == pl.String() and not f.joined for f in fields.values())
        n_rows = _TEXT_CHUNK_ROWS if has_text else _CHUNK_ROWS
        try:
            cursor = self._connection.execute(query)
            while rows := cursor.fetchmany(n_rows):
                n_read += len(rows)
                self.n_rows += len(rows)
                if self._meter is not None:
                    self._meter.count(len(rows))
                if n_read > self._most_rows():
                    raise sqlite3.DatabaseError("more rows than the file has room for")
                frame = _frame(rows, fields)
                n_text += sum(int(c.str.len_bytes().sum()) for c in frame if c.dtype == pl.String())
                if n_text > self._most_text():
                    raise sqlite3.DatabaseError("more text than the file has room for")
                yield frame
        except _DAMAGE as error:
            self._check_clock(error)
            # fetchmany loses up to a chunk of rows that could be read before the damage.
            self.damage[f"the table {table} is damaged after {n_read} rows"] += 1
        except MemoryError as error:
            raise BadInput(
                f"Reading {table} of {self._name} needs more memory than an export does.",
                remedy="Export the report again: nsys export --type sqlite report.nsys-rep",
            ) from error

    def pairs(self, table: str, key: str, value: str) -> dict[str, str]:
        """A small table of names and values, at most some thousand of them."""
        values: dict[str, str] = {}
        for frame in self.frames(table, {"key": text(key), "value": text(value)}):
            values.update(frame.drop_nulls().head(10_000).iter_rows())
            break
        return values

    def _protect(self) -> None:
        connection, limits = self._connection, self._limits
        connection.text_factory = _decoded
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.max_value_bytes)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1)
        for pragma in (
            "trusted_schema=OFF",
            "query_only=ON",
            "cell_size_check=ON",
            "mmap_size=0",
            f"hard_heap_limit={limits.max_heap_bytes}",
        ):
            connection.execute(f"PRAGMA {pragma}")
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(self._is_late, _LOOK_EVERY)

    def _ordinary_tables(self) -> dict[str, frozenset[str]]:
        # Root page 0: a virtual table, whose module would run. SQLite's own are of no use.
        listed = self._connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        ).fetchall()
        tables = {}
        for (name,) in listed:
            if not isinstance(name, str) or not name.isidentifier() or name.startswith("sqlite_"):
                continue
            columns = self._connection.execute(f'PRAGMA table_xinfo("{name}")').fetchall()
            tables[name] = frozenset(
                row[1] for row in columns if row[6] == _ORDINARY and row[1].isidentifier()
            )
        return tables

    def _expression(self, table: str, field: Field) -> str:
        there = [column for column in field.columns if column in self.tables[table]]
        if field.joined:
            if len(there) < len(field.columns):
                return "NULL"
            return "'[' || " + " || ',' || ".join(f'"{column}"' for column in there) + " || ']'"
        if not there:
            return "NULL"
        if field.dtype == pl.String():
            return f'substr("{there[0]}", 1, {self._limits.max_text_characters})'
        return f'"{there[0]}"'

    def _most_rows(self) -> int:
        return 1000 + self._n_bytes // self._limits.min_row_bytes

    def _most_text(self) -> int:
        # Twice, because a file may hold UTF-16, and small numbers that are joined grow.
        return _ROOM_BYTES + 2 * self._n_bytes

    def _is_late(self) -> int:
        return int(time.monotonic() > self._ends_at)

    def _check_clock(self, error: Exception) -> None:
        if self._is_late():
            raise BadInput(
                f"Reading {self._name} takes longer than a file of its size may.",
                remedy="Record fewer steps: nsys profile --capture-range=cudaProfilerApi …",
            ) from error

    def _refused(self, error: Exception) -> BadInput:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            return NotATrace(
                f"{self._name} begins like an SQLite file, and is none.",
                remedy="Export the report again: nsys export --type sqlite report.nsys-rep",
            )
        return BadInput(
            f"{self._name} is a damaged SQLite file: {error}.",
            remedy="Export the report again: nsys export --type sqlite report.nsys-rep",
        )


def _frame(rows: list[tuple[object, ...]], fields: Mapping[str, Field]) -> pl.DataFrame:
    """SQLite's columns hold values of any type: what does not fit is null."""
    schema = {name: field.dtype for name, field in fields.items()}
    try:
        return pl.DataFrame(rows, schema=schema, orient="row", strict=False)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        pass  # a value of another type, which no export has: slower, one at a time
    columns = []
    for (name, dtype), values in zip(schema.items(), zip(*rows, strict=True), strict=True):
        python_type = str if dtype == pl.String() else int
        fitting = [value if isinstance(value, python_type) else None for value in values]
        columns.append(pl.Series(name, fitting, dtype=dtype))
    return pl.DataFrame(columns)


def _decoded(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _authorize(
    action: int, first: str | None, second: str | None, _database: str | None, _by: str | None
) -> int:
    allowed = (
        action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
        or (action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS)
        or (action == sqlite3.SQLITE_PRAGMA and first == "table_xinfo")
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
