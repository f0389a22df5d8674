"""Bring a database to the newest schema: by itself, once, however many servers start at once.

The whole upgrade is one transaction that holds a lock (SQLite: the writer's, PostgreSQL: an
advisory one), and the version is asked for again once the lock is held.
"""

from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from profiler_core.errors import BadInput

HEAD = "0012"  # the newest file in migrations/versions
_VERSION_TABLE = "alembic_version"
_LOCK = 0x46_53_43_50  # any number, the same for all servers: "FSCP"


def migrate(connection: Connection, target: str = HEAD) -> None:
    """Upgrade to `target`; nothing to do where the database is there already.

    Raises:
        BadInput: a newer version of Fusionscope wrote this database.
    """
    if version_of(connection) == target:
        return
    with connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        version = _version_now(connection)
        if version == target:
            return  # another server was faster
        _refuse_newer(version)
        _upgrade(connection, target)


def check_schema(connection: Connection) -> None:
    """Could this version work with the database? Changes nothing in it.

    Raises:
        BadInput: a newer version of Fusionscope wrote it.
    """
    with connection.begin():
        _refuse_newer(_version_now(connection))


def _refuse_newer(version: str | None) -> None:
    if version is not None and version > HEAD:
        raise BadInput(
            f"The history was written by a newer Fusionscope (its schema is {version}, "
            f"this version knows {HEAD}).",
            remedy="Update Fusionscope on this machine.",
        )


def _upgrade(connection: Connection, target: str) -> None:
    from alembic import command  # 0.2 s that only an upgrade pays
    from alembic.config import Config

    config = Config()
    # Alembic reads % as the beginning of a variable.
    folder = str(Path(__file__).parent / "migrations").replace("%", "%%")
    config.set_main_option("script_location", folder)
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def version_of(connection: Connection) -> str | None:
    """The schema of a database; None: it has no tables yet.

    Outside of the lock: a missing table is no error, it only means that all is to be done.
    """
    try:
        with connection.begin():
            return _version_now(connection)
    except (OperationalError, ProgrammingError):
        return None


def _version_now(connection: Connection) -> str | None:
    if not connection.dialect.has_table(connection, _VERSION_TABLE):
        return None
    row = connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).first()  # noqa: S608
    return None if row is None else str(row[0])
