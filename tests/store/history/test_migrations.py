"""The schema comes up by itself, and is what the code says; old ones are in test_upgrades.py."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from profiler_core.store import history
from profiler_core.store.history import migrate
from profiler_core.store.history.tables import metadata


def test_the_newest_file_is_the_head():
    folder = str(migrate.Path(migrate.__file__).parent / "migrations")
    assert ScriptDirectory(folder).get_heads() == [migrate.HEAD]


def test_the_migrations_make_just_the_tables_of_the_code(home):
    with history.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_sqlite_uses_a_write_ahead_log(home, kind):
    if kind == "postgresql":
        return  # has one always
    with history.reading() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
