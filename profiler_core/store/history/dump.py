"""All rows of the history as text, for a backup: from one moment, into either kind of database.

Lines of JSON: the schema and the columns of each table, then each row as its table and values,
then how many rows each table has. No tool of a database is needed, and what SQLite held may go
into a PostgreSQL.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from alembic.util.exc import CommandError
from sqlalchemy import JSON, Connection, LargeBinary, MetaData, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from profiler_core.errors import BadInput
from profiler_core.store.history.database import of_any_schema, reading, where
from profiler_core.store.history.migrate import HEAD, migrate, version_of
from profiler_core.store.history.tables import metadata
from profiler_core.store.history.tables import runs as runs_table

_AT_ONCE = 500  # rows


@dataclass(frozen=True)
class FilesOfRun:
    """Where the history says that the files of a run are."""

    run_id: str
    key: str
    artifact: str | None


class Dump:
    """The rows of one moment. Once iterated over, it knows what was in them."""

    def __init__(self) -> None:
        self.n_rows: dict[str, int] = {}  # of each table
        self.n_runs = 0  # outside of the trash, as they are listed
        self.runs: dict[str, FilesOfRun] = {}  # with files outside of the trash, by their key

    def __iter__(self) -> Iterator[bytes]:
        """The lines, from one transaction.

        Raises:
            HistoryUnavailable: the database cannot be used.
        """
        with reading() as connection:
            tables = metadata.sorted_tables
            columns = {table.name: [column.name for column in table.columns] for table in tables}
            yield _line({"schema": HEAD, "tables": columns})
            self.n_runs = 0
            for table in tables:
                self.n_rows[table.name] = 0
                ordered = select(table).order_by(*table.primary_key.columns)
                for row in connection.execution_options(yield_per=_AT_ONCE).execute(ordered):
                    self.n_rows[table.name] += 1
                    self.n_runs += table is runs_table and row.deleted_at is None
                    gone = table is runs_table and (row.files_deleted_at or row.deleted_at)
                    if table is runs_table and not gone:
                        self.runs[row.key] = FilesOfRun(row.run_id, row.key, row.artifact)
                    yield _line([table.name, *map(_plain, row)])
            yield _line({"n_rows": self.n_rows})


def refuse_used_database(schema: str) -> None:
    """Before rows of this schema are restored: the database holds none yet.

    Raises:
        BadInput: it holds rows, or its tables are of another schema; or the rows are of a newer
            version.
    """
    if schema > HEAD:
        raise BadInput(
            f"The backup was made by a newer Fusionscope (its schema is {schema}, this version "
            f"knows {HEAD}).",
            remedy="Update Fusionscope on this machine, then restore.",
        )
    with of_any_schema() as connection:
        version = version_of(connection)
        n_rows = {} if version is None else _counted(connection)
    used = {name: n for name, n in n_rows.items() if n}
    if used:
        raise BadInput(
            f"The database {where()} is not empty: "
            f"{', '.join(f'{n} rows in {name}' for name, n in used.items())}.",
            remedy="Restore into a new database: name it by FUSIONSCOPE_DATABASE_URL, or leave "
            "that out for a SQLite file in the new home.",
        )
    if version not in (None, schema):
        raise BadInput(
            f"The database {where()} has empty tables of schema {version}, and the backup is of "
            f"schema {schema}.",
            remedy="Restore into a database without tables; they are made by themselves.",
        )


@contextmanager
def _as_no_dump() -> Iterator[None]:
    """What text of another kind meets on its way into the tables; it may come from anybody."""
    try:
        yield
    except (LookupError, TypeError, ValueError, RecursionError, IntegrityError, CommandError) as e:
        raise _no_dump() from e


@_as_no_dump()
def restore_rows(lines: Iterable[bytes]) -> dict[str, int]:
    """Put the rows into the empty database, all or none, and bring it to the newest schema.

    Returns:
        Table -> how many rows.

    Raises:
        BadInput: the lines are no dump, or an incomplete one; nothing is kept of them then.
    """
    rest = iter(lines)
    head = _read(next(rest, b""), dict)
    schema = str(head.get("schema"))
    refuse_used_database(schema)
    with of_any_schema() as connection:
        migrate(connection, schema)
    with of_any_schema() as connection, connection.begin():
        # As the tables were at that schema, which may have others than this version's code.
        then = MetaData()
        then.reflect(connection)
        for column in (column for table in then.sorted_tables for column in table.columns):
            if isinstance(column.type, JSON):  # a missing value, and no JSON that says null
                column.type.none_as_null = bool(column.nullable)
        n_rows = _inserted(connection, then, head["tables"], rest)
        if n_rows != {name: n for name, n in _counted(connection).items() if name in n_rows}:
            raise BadInput(
                f"The database {where()} did not take all rows.", remedy="Restore once more."
            )
        _move_counters(connection, then)
    with of_any_schema() as connection:
        migrate(connection)
    return n_rows


def holds(n_rows: dict[str, int]) -> bool:
    """Has the database just so many rows in these tables?"""
    with of_any_schema() as connection:
        if version_of(connection) is None:
            return False
        counted = _counted(connection)
    return all(counted.get(name, 0) == n for name, n in n_rows.items())


def _inserted(
    connection: Connection,
    then: MetaData,
    columns: dict[str, list[str]],
    lines: Iterator[bytes],
) -> dict[str, int]:
    n_rows = dict.fromkeys(columns, 0)
    name, waiting = "", list[dict[str, Any]]()

    def flush() -> None:
        if waiting:
            connection.execute(insert(then.tables[name]), waiting)
            n_rows[name] += len(waiting)
            waiting.clear()

    for line in lines:
        values = _read(line, (dict, list))
        if isinstance(values, dict):
            flush()
            # Asking for more also has the last of what was read compared with its hash.
            if values.get("n_rows") != n_rows or next(lines, None) is not None:
                raise _no_dump()
            return n_rows
        if values[0] != name or len(waiting) >= _AT_ONCE:
            flush()
            name = values[0]
        if name not in columns or name not in then.tables:
            raise _no_dump()
        table = then.tables[name]
        waiting.append(
            {
                column: base64.b64decode(value)
                if isinstance(table.c[column].type, LargeBinary) and value is not None
                else value
                for column, value in zip(columns[name], values[1:], strict=True)
            }
        )
    raise _no_dump()  # the last line is missing


def _counted(connection: Connection) -> dict[str, int]:
    there = MetaData()
    there.reflect(connection)
    return {
        table.name: connection.scalar(select(func.count()).select_from(table)) or 0
        for table in there.sorted_tables
        if table.name != "alembic_version"
    }


def _move_counters(connection: Connection, then: MetaData) -> None:
    """PostgreSQL counts by itself, and knows nothing of ids that were given."""
    if connection.dialect.name != "postgresql":
        return
    for table in then.sorted_tables:
        column = table.autoincrement_column
        sequence = column is not None and connection.scalar(
            text("SELECT pg_get_serial_sequence(:name, :column)"),
            {"name": table.name, "column": column.name},
        )
        last = sequence and column is not None and connection.scalar(select(func.max(column)))
        if last:
            connection.execute(
                text("SELECT setval(:sequence, :last)"), {"sequence": sequence, "last": last}
            )


def _plain(value: object) -> object:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _read(line: bytes, kind: type | tuple[type, ...]) -> Any:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise _no_dump() from error
    if not isinstance(value, kind):
        raise _no_dump()
    return value


def _no_dump() -> BadInput:
    return BadInput(
        "The rows of the backup are incomplete, or of a kind that this version does not know.",
        remedy="Restore another backup, or update Fusionscope on this machine.",
    )
