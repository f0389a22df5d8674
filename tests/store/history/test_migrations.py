"""The schema comes up by itself: from nothing, from the first one, and with many at once."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from profiler_core.errors import BadInput
from profiler_core.store import history
from profiler_core.store.history import database, migrate
from profiler_core.store.history.tables import metadata
from tests.store.history.samples import redated_copy


def at_schema(version):
    """An empty database at this schema, as an older Fusionscope left it."""
    with database.of_any_schema() as connection:
        migrate.migrate(connection, version)


def test_the_newest_file_is_the_head():
    folder = str(migrate.Path(migrate.__file__).parent / "migrations")
    assert ScriptDirectory(folder).get_heads() == [migrate.HEAD]


def test_the_migrations_make_just_the_tables_of_the_code(home):
    with history.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_runs_of_the_first_schema_are_kept(home):
    home.mkdir(exist_ok=True)
    at_schema("0001")
    directory = redated_copy(home, "c1")
    # A row as the first schema's version wrote it.
    with database.of_any_schema() as connection, connection.begin():
        connection.execute(
            text(
                "INSERT INTO runs (run_id, capture_id, status, created_at, recorded_at, origin, "
                "metrics_version, rounds, spec, environment, key, step_time_ns) VALUES ('old', "
                "'c0', 'finished', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 'capture', 1, "
                "'[[0, 0, 10, 1000]]', '{}', '{}', 'run/c0/default', 100.0)"
            )
        )
    history.record(directory)
    assert [run.run_id for run in history.runs()] == ["c1.default", "old"]
    old = history.run("old")
    assert old.metrics.step_time_ns == 100
    assert old.rounds[0].wall_ns == 1000
    with history.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM reviews")).scalar() == 0


def test_a_newer_schema_is_left_alone(home):
    history.runs()
    with history.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close_all()
    with pytest.raises(BadInput, match="newer Fusionscope"):
        history.runs()


def test_sqlite_uses_a_write_ahead_log(home, kind):
    if kind == "postgresql":
        return  # has one always
    with history.reading() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
