"""No entry of the audit is ever deleted, so what somebody sends makes none of a megabyte."""

import json
from pathlib import Path

import pytest

from profiler_core.door import deeds
from profiler_core.door.asker import Asker
from profiler_core.store import history
from profiler_core.store.history import waiting_deeds
from tests.attack.api import call, token_of
from tests.attack.conftest import TEAM, VIEWER, Server

pytestmark = pytest.mark.usefixtures("quick_modules")

LONG = "x" * 50_000
MOST_BYTES = 12_000  # of one entry


def newest() -> str:
    entry = history.entries(1)[0]
    return json.dumps([entry.subject, entry.detail])


def test_a_viewer_makes_no_long_entry(
    server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.is_at("127.0.0.1", TEAM)
    token = token_of(VIEWER, "read", "gate")
    asked = {"baseline": "main", "candidate": "c", "limits": {"step_time": LONG}}
    assert call("POST", "/api/gate", token, asked).status == 422
    assert "main, c" in newest()
    assert len(newest()) < MOST_BYTES
    many = {f"q{number}": "+3%" for number in range(3000)}
    assert call("POST", "/api/gate", token, {**asked, "limits": many}).status == 422
    assert len(newest()) < MOST_BYTES
    assert call("GET", "/api/runs", token, phrase=LONG).status in (200, 422)
    assert len(newest()) < MOST_BYTES
    monkeypatch.setattr(deeds, "_asked", lambda *_: None)
    deeds.start_answering(Asker("ada", ("look",)), "summary", {"run": LONG * 20})
    assert history.entries(1)[0].action == "ask"
    assert len(newest()) < MOST_BYTES


def test_nor_one_that_waits_for_the_database(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", "sqlite:////nowhere/at/all/history.sqlite3")
    history.note_or_keep("ada", "look", LONG, text=LONG)
    (file,) = waiting_deeds.files_of_waiting_deeds()
    assert file.stat().st_size < MOST_BYTES
