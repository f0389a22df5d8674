"""Rows of every table, whatever its columns are, as an earlier version could have left them."""

from sqlalchemy import (
    JSON,
    Boolean,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    insert,
    select,
)

N_ROWS = 3
# What the code reads as more than a text.
_WORDS = {"status": "finished", "origin": "capture", "role": "candidate", "decision": "accept",
          "verdict": "accept", "group_names": ["performance"], "scopes": ["runs:read"],
          "rounds": [[0, 0, 10, 1000]], "workload": "breaky"}  # fmt: skip


def tables_of(connection: Connection) -> list[Table]:
    """The tables as they are in the database, those that others refer to first."""
    there = MetaData()
    there.reflect(connection)
    return [table for table in there.sorted_tables if table.name != "alembic_version"]


def fill(connection: Connection) -> None:
    """Put rows into every table."""
    for table in tables_of(connection):
        given = [c for c in table.columns if c is not table.autoincrement_column]
        rows = [{c.name: _value(c, n) for c in given} for n in range(1, N_ROWS + 1)]
        connection.execute(insert(table), rows)


def rows_of(connection: Connection) -> dict[str, list[dict[str, object]]]:
    """Table -> all of its rows, in the order of their keys."""
    return {
        table.name: [
            dict(row._mapping)
            for row in connection.execute(select(table).order_by(*table.primary_key.columns))
        ]
        for table in tables_of(connection)
    }


def _value(column, n):
    if column.name in _WORDS:
        return _WORDS[column.name]
    if isinstance(column.type, JSON):
        return {"n": n, "text": 'ä "quoted"\n'}
    if isinstance(column.type, Boolean):
        return n % 2 == 0
    if isinstance(column.type, LargeBinary):
        return bytes([0, 255, n])
    if isinstance(column.type, Integer):
        return n
    if isinstance(column.type, Float):
        return n / 3
    is_deleted = column.name in ("deleted_at", "files_deleted_at")  # these runs are not
    if column.nullable and (is_deleted or (n == 2 and not column.foreign_keys)):
        return None
    if column.name.endswith("_at") or column.name == "at":
        return f"2026-01-0{n}T00:00:00Z"
    if column.name == "key":
        return f"run/c{n}/default"
    # One text for all columns of a row: what refers to another table finds it.
    return f"r{n}"
