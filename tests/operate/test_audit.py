"""The audit misses nothing while the database is away, and nobody can change it."""

import json
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from profiler_core.store import history
from profiler_core.store.history import database
from profiler_core.store.history.waiting_deeds import note_or_keep, record_kept

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


def test_neither_database_nor_disk_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", AWAY)
    (home / "audit_waiting.jsonl").mkdir()
    with pytest.raises(IsADirectoryError):
        note_or_keep("ada", "look", "a")


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
