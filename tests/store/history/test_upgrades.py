"""A database of each released schema, with rows in every table, is brought up and loses none.

An upgrade that is killed begins anew, and several processes may start on the same old database.
"""

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.store import history
from profiler_core.store.history import database, dump, migrate
from tests.store.history.any_rows import N_ROWS, fill, rows_of
from tests.store.history.samples import redated_copy
from tests.store.history.test_crashes import killed_in_the_middle

VERSIONS = sorted(
    path.name[1:5]
    for path in (Path(migrate.__file__).parent / "migrations" / "versions").glob("v*.py")
)
# Tables of an old schema -> where their rows are since, with the columns that they share.
MOVED = {"review_runs": "review_sides"}


def an_old_history(home, version):
    """A database as that version left it, with rows in each of its tables: table -> rows."""
    home.mkdir(exist_ok=True)
    with database.of_any_schema() as connection:
        migrate.migrate(connection, version)
    with database.of_any_schema() as connection, connection.begin():
        fill(connection)
        return rows_of(connection)


def rows_lost(old, new):
    """The rows of which a column that is still there has another value, or which are gone."""
    lost = []
    for name, rows in old.items():
        now = new[MOVED.get(name, name)]
        for row in rows:
            shared = [column for column in row if column in now[0]]
            if not any(all(n[column] == row[column] for column in shared) for n in now):
                lost.append((name, row))
    return lost


def test_every_file_of_the_chain_is_tested():
    assert VERSIONS[-1] == migrate.HEAD
    assert [f"{n:04}" for n in range(1, len(VERSIONS) + 1)] == VERSIONS


@pytest.mark.parametrize("version", VERSIONS[:-1])
def test_rows_of_every_table_survive_and_are_read_by_the_product(home, version):
    old = an_old_history(home, version)
    assert all(len(rows) == N_ROWS for rows in old.values())
    assert {run.run_id for run in history.runs()} == {"r1", "r2", "r3"}  # this upgrades
    with history.reading() as connection:
        new = rows_of(connection)
    assert rows_lost(old, new) == []
    run = history.run("r1")
    assert (run.workload, run.rounds[0].wall_ns, run.tags) == ("breaky", 1000, ("r1",))
    assert {baseline.name for baseline in history.baselines()} == {"r1", "r2", "r3"}
    assert {entry.action for entry in history.entries()} == {"r1", "r2", "r3"}
    if "reviews" in old:
        review = history.review("r1")
        assert [side.run_id for side in review.sides] == ["r1"]
        assert [note.text for note in review.notes] == ["r1"]
        assert [sign_off.decision for sign_off in review.sign_offs] == ["accept"]
        assert len(history.review_heads()) == N_ROWS
    # It can be worked with: an id that the database gives, and what refers to an old row.
    history.set_baseline("main", "r1")
    assert history.record(redated_copy(home, "c9")).run_id == "c9.default"


def test_a_newer_database_is_refused_in_a_sentence_and_left_alone(home):
    with database.of_any_schema() as connection:
        migrate.migrate(connection)
    with database.of_any_schema() as connection, connection.begin():
        fill(connection)
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        before = rows_of(connection)
    with pytest.raises(BadInput, match="newer Fusionscope") as refused:
        history.runs()
    assert refused.value.remedy == "Update Fusionscope on this machine."
    with database.of_any_schema() as connection:
        assert rows_of(connection) == before


UPGRADE = """
import os, sys, signal
from pathlib import Path
from profiler_core.store import history
from profiler_core.store.history import migrate
upgrade = migrate._upgrade
def half(connection, target):
    upgrade(connection, sys.argv[2])
    Path(sys.argv[1]).write_text(str(os.getpid()))
    signal.pause()
migrate._upgrade = half
history.runs()
"""


def test_an_upgrade_that_is_killed_is_repeated(home, tmp_path):
    old = an_old_history(home, "0001")
    for n, reached in enumerate(VERSIONS[1:3]):
        killed_in_the_middle(UPGRADE, tmp_path / f"ready{n}", reached)
        with database.of_any_schema() as connection:
            assert migrate.version_of(connection) == "0001"
            assert rows_of(connection) == old
    assert len(history.runs()) == N_ROWS
    with history.reading() as connection:
        assert rows_lost(old, rows_of(connection)) == []


def start(directories: list[str], barrier: object, environment: dict[str, str]) -> None:
    """A server that starts on the old database, and works at once."""
    os.environ.update(environment)
    barrier.wait()  # type: ignore[attr-defined]
    for directory in directories:
        assert len(history.runs()) >= N_ROWS
        history.record(Path(directory))
        history.set_baseline("main", "r1")


def test_two_servers_that_start_on_an_old_database_lose_nothing(home):
    old = an_old_history(home, "0002")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["profiler_core.store.history", "psycopg"])
    barrier = context.Barrier(2)
    names = [[f"s{server}-{n}" for n in range(4)] for server in range(2)]
    servers = [
        context.Process(
            target=start,
            args=([str(redated_copy(home, name)) for name in own], barrier, dict(os.environ)),
        )
        for own in names
    ]
    for server in servers:
        server.start()
    for server in servers:
        server.join(120)
    assert [server.exitcode for server in servers] == [0, 0]
    assert {f"{name}.default" for own in names for name in own} < {
        run.run_id for run in history.runs()
    }
    with history.reading() as connection:
        assert rows_lost(old, rows_of(connection)) == []


@pytest.mark.parametrize("version", ["0001", "0003"])
def test_rows_of_an_older_versions_backup_are_brought_up(
    home, kind, tmp_path, monkeypatch, version, new_database
):
    old = an_old_history(home, version)
    lines = [{"schema": version, "tables": {name: list(rows[0]) for name, rows in old.items()}}]
    lines += [[name, *row.values()] for name, rows in old.items() for row in rows]
    lines.append({"n_rows": dict.fromkeys(old, N_ROWS)})
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "new"))
    (tmp_path / "new").mkdir()
    url = new_database(kind)
    if url is not None:
        monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", url)
    dump.restore_rows(json.dumps(line).encode() for line in lines)
    with history.reading() as connection:
        assert rows_lost(old, rows_of(connection)) == []
    history.note("ada", "look", "r1")  # with an id of its own
    assert len(history.entries()) == N_ROWS + 1


def test_rows_of_a_newer_versions_backup_are_refused(home):
    home.mkdir(exist_ok=True)
    with pytest.raises(BadInput, match="made by a newer Fusionscope"):
        dump.restore_rows([b'{"schema": "9999", "tables": {}}', b'{"n_rows": {}}'])
