"""The audit misses nothing while the database is away, and nobody can change it."""

import errno
import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from streamlit.testing.v1 import AppTest

from profiler_core.store import history
from profiler_core.store.history import audit, database, waiting_deeds
from profiler_core.store.history.waiting_deeds import NotRecorded, note_or_keep, record_kept

ROOT = Path(__file__).resolve().parents[2]
AWAY = "sqlite:////nowhere/at/all/history.sqlite3"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.delenv("FUSIONSCOPE_DATABASE_URL", raising=False)
    return tmp_path


def deeds() -> list[tuple[str, str]]:
    return [(entry.action, entry.subject) for entry in reversed(history.entries())]


def test_deeds_of_a_time_without_database_are_recorded_with_their_own_moment(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_or_keep("ada", "look", "a")
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", AWAY)
    monkeypatch.setattr(
        "profiler_core.store.history.waiting_deeds.now", lambda: "2026-01-01T00:00:00Z"
    )
    note_or_keep("ada", "look", "b")
    note_or_keep("ada", "download", "c", ending=".zip")
    monkeypatch.delenv("FUSIONSCOPE_DATABASE_URL")
    monkeypatch.undo()
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    note_or_keep("ada", "look", "d")
    assert deeds() == [("look", "a"), ("look", "b"), ("download", "c"), ("look", "d")]
    kept = history.entries(action="download")[0]
    assert (kept.at, kept.detail) == ("2026-01-01T00:00:00Z", {"ending": ".zip"})
    assert not list(home.glob("audit_waiting*"))


def test_a_process_that_died_while_recording_loses_nothing(home: Path) -> None:
    entry = {"at": "2026-01-01T00:00:00Z", "person": "a", "action": "look", "subject": "x",
             "detail": {}}  # fmt: skip
    half = json.dumps(entry)[:-20]  # the machine lost power while it was written
    (home / "audit_waiting.jsonl.7.2026.taken").write_text(json.dumps(entry) + "\n" + half)
    assert record_kept() == 1
    assert deeds() == [("look", "x")]


def test_what_no_database_takes_is_not_kept_for_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One deed that PostgreSQL refuses, with a NUL in it, would hold up all that come after."""
    with monkeypatch.context() as patch:
        patch.setenv("FUSIONSCOPE_DATABASE_URL", AWAY)
        with audit.acting_via("token CI"):
            note_or_keep("ada\0", "look", "run/a\0b", name="half \ud800")
        database.close_all()
    assert record_kept() == 1
    (entry,) = history.entries()
    assert (entry.person, entry.subject) == ("ada", "run/ab")
    assert entry.detail == {"name": "half ?", "via": "token CI"}


def test_neither_database_nor_disk_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", AWAY)
    (home / "audit_waiting.jsonl").mkdir()
    with pytest.raises(history.NotRecorded, match="is not done without") as refused:
        note_or_keep("ada", "look", "a")
    assert "bring its database back" in refused.value.remedy


@pytest.mark.parametrize("statement", ["DELETE FROM audit", "UPDATE audit SET person = 'eve'"])
def test_the_database_refuses_to_change_the_audit(home: Path, statement: str) -> None:
    note_or_keep("ada", "look", "a")
    with (
        pytest.raises((SQLAlchemyError, history.HistoryUnavailable), match="only grows"),
        database.writing() as connection,
    ):
        connection.execute(text(statement))
    assert deeds() == [("look", "a")]


def test_a_deed_after_one_that_was_half_written_is_kept_and_stops_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "audit_waiting.jsonl").write_text('{"at": "2026-01-01T00:00:00Z", "perso')
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", AWAY)
    note_or_keep("ada", "look", "a")
    monkeypatch.delenv("FUSIONSCOPE_DATABASE_URL")
    note_or_keep("ada", "look", "b")
    assert deeds() == [("look", "a"), ("look", "b")]


def test_a_disk_that_takes_half_a_deed_refuses_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", AWAY)
    n_left, write = 40, os.write

    def write_what_fits(handle: int, content: bytes) -> int:
        nonlocal n_left
        if not n_left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        n_written = write(handle, content[:n_left])
        n_left -= n_written
        return n_written

    monkeypatch.setattr(os, "write", write_what_fits)
    with pytest.raises(NotRecorded, match="No space left"):
        note_or_keep("ada", "look", "a")
    assert not (home / "audit_waiting.jsonl").read_bytes()
    n_left = 1_000_000
    note_or_keep("ada", "look", "b")
    monkeypatch.delenv("FUSIONSCOPE_DATABASE_URL")
    note_or_keep("ada", "look", "c")
    assert deeds() == [("look", "b"), ("look", "c")]


def a_taken_file(home: Path, n_deeds: int) -> None:
    entries = [
        {"at": "2026-01-01T00:00:00Z", "person": "a", "action": "look", "subject": f"s{n}",
         "detail": {}}
        for n in range(n_deeds)
    ]  # fmt: skip
    (home / "audit_waiting.jsonl.0123.taken").write_text("\n".join(map(json.dumps, entries)))


RECORD = """
import signal, sys, time
from pathlib import Path
from profiler_core.store.history import waiting_deeds
entries = waiting_deeds._entries
def wait_for_the_others(path):
    read = entries(path)
    Path(sys.argv[1]).touch()
    while not Path(sys.argv[2]).exists():
        time.sleep(0.001)
    return read
waiting_deeds._entries = wait_for_the_others
waiting_deeds.record_kept()
"""


def test_two_processes_that_record_the_same_deeds_record_each_once(
    home: Path, tmp_path: Path, quick_python: Path
) -> None:
    history.note("ada", "look", "first")
    a_taken_file(home, 20)
    go = tmp_path / "go"
    processes = [
        subprocess.Popen([quick_python, "-c", RECORD, str(tmp_path / f"ready{n}"), str(go)],
                         cwd=ROOT, env=os.environ)
        for n in range(2)
    ]  # fmt: skip
    deadline = time.monotonic() + 240
    while not all((tmp_path / f"ready{n}").exists() for n in range(2)):  # both have read the file
        assert time.monotonic() < deadline
        time.sleep(0.02)
    go.touch()
    assert [process.wait(60) for process in processes] == [0, 0]
    assert deeds() == [("look", "first"), *(("look", f"s{n}") for n in range(20))]
    assert not list(home.glob("audit_waiting*"))


def test_a_process_that_is_killed_after_recording_records_nothing_twice(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_taken_file(home, 3)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "unlink", killed)
        record_kept()
    assert record_kept() == 0
    assert deeds() == [("look", f"s{n}") for n in range(3)]
    assert not list(home.glob("audit_waiting*"))


def test_a_deed_that_is_written_while_the_file_is_taken_is_not_lost(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = waiting_deeds._lock
    taken: list[int] = []

    def taken_before_it_is_locked(handle: int) -> None:
        if not taken:
            taken.append(handle)
            monkeypatch.delenv("FUSIONSCOPE_DATABASE_URL")
            assert record_kept() == 0  # what the deed is about to be written to is gone
        lock(handle)

    history.note("ada", "look", "first")
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", AWAY)
    monkeypatch.setattr(waiting_deeds, "_lock", taken_before_it_is_locked)
    note_or_keep("ada", "look", "b")
    record_kept()
    assert deeds() == [("look", "first"), ("look", "b")]


def test_the_page_of_deeds_is_cut_in_sql(home: Path) -> None:
    for number in range(120):
        audit.note_alone(f"person{number % 2}", "look", f"run/{number}")
    app = AppTest.from_function(activity, default_timeout=300).run()
    assert not app.exception
    subjects = list(app.dataframe[0].value["What"])
    assert subjects == [f"run/{number}" for number in range(119, 69, -1)]
    app.session_state["page"] = 3
    assert list(app.run().dataframe[0].value["What"])[-1] == "run/0"
    app.selectbox[0].set_value("person1").run()  # 60 of them: there is no third page
    assert list(app.dataframe[0].value["What"])[-1] == "run/1"


def activity() -> None:
    from profiler_core.ui.activity.entries import show_entries

    show_entries()
