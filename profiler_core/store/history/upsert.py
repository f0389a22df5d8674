"""INSERT … ON CONFLICT, which SQLite and PostgreSQL write alike and SQLAlchemy keeps apart."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_or_ignore(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert a row; False where one of its primary key was there, which stays as it is."""
    statement = _insert(connection)(table).values(**values).on_conflict_do_nothing()
    # Without the option PostgreSQL's driver answers -1 for an INSERT.
    counted = statement.execution_options(preserve_rowcount=True)
    return connection.execute(counted).rowcount > 0


def insert_or_update(
    connection: Connection, table: Table, values: Mapping[str, Any], changed: Sequence[str]
) -> None:
    """Insert a row; where one of its primary key was there, only the columns `changed` change."""
    statement = _insert(connection)(table).values(**values)
    key = [column.name for column in table.primary_key]
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=key, set_={name: statement.excluded[name] for name in changed}
        )
    )


def _insert(connection: Connection) -> Any:
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert
