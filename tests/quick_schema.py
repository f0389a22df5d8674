"""The tables of an empty database by the statements that its migrations ran the first time.

Alembic needs 50 ms of a core to find, compile and order them, for each of some 600 databases.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_READING = ("SELECT", "PRAGMA")


@contextmanager
def replayed() -> Iterator[None]:
    """Within the block Alembic runs once per kind of database, and wherever there are tables."""
    from sqlalchemy import Connection, inspect

    from profiler_core.store.history import migrate

    by_alembic = migrate._upgrade
    statements: dict[str, list[tuple[str, Any]]] = {}

    def upgrade(connection: Connection, target: str) -> None:
        kind = connection.dialect.name
        if target != migrate.HEAD or inspect(connection).get_table_names():
            by_alembic(connection, target)
        elif kind not in statements:
            statements[kind] = _recorded(by_alembic, connection, target)
        else:
            for statement, parameters in statements[kind]:
                connection.exec_driver_sql(statement, parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "_upgrade", upgrade)
        yield


def _recorded(
    by_alembic: Callable[..., None], connection: Any, target: str
) -> list[tuple[str, Any]]:
    """What an upgrade executes that changes something, with parameters; it is done as well."""
    from sqlalchemy import event

    statements: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if not statement.lstrip().startswith(_READING):
            statements.append((statement, parameters or None))

    event.listen(connection, "before_cursor_execute", note)
    try:
        by_alembic(connection, target)
    finally:
        event.remove(connection, "before_cursor_execute", note)
    return _together(statements) if connection.dialect.name == "postgresql" else statements


def _together(statements: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """PostgreSQL takes any number of statements without parameters as one message."""
    joined: list[tuple[str, Any]] = []
    for statement, parameters in statements:
        if joined and parameters is None and joined[-1][1] is None:
            joined[-1] = (f"{joined[-1][0]};\n{statement}", None)
        else:
            joined.append((statement, parameters))
    return joined
