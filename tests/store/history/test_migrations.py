"""The schema comes up by itself, and is what the code says; old ones are in test_upgrades.py."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from profiler_core.store import history
from profiler_core.store.history import migrate
from profiler_core.store.history.tables import metadata
from tests import quick_schema


def _schema(connection):
    """What `compare_metadata` and the databases themselves say of all tables."""
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    inspector = inspect(connection)
    return compare_metadata(context, metadata), {
        table: repr(
            (
                inspector.get_columns(table),
                inspector.get_indexes(table),
                inspector.get_unique_constraints(table),
                inspector.get_foreign_keys(table),
                inspector.get_pk_constraint(table),
                inspector.get_check_constraints(table),
                connection.execute(text(f"SELECT * FROM {table}")).all(),
            )
        )
        for table in sorted(inspector.get_table_names())
    }


def test_the_statements_run_again_make_what_alembic_makes(kind, new_database, home, monkeypatch):
    """What the other tests' databases are made by."""
    with quick_schema.replayed():
        schemas = []
        for number in range(2):  # by Alembic first
            if kind == "sqlite":
                monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", f"sqlite:///{home}-{number}")
            else:
                monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", new_database(kind))
            with history.reading() as connection:
                schemas.append(_schema(connection))
    assert schemas[0] == schemas[1]
    assert schemas[0][0] == []


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
