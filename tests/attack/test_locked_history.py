"""Somebody else holds the history's SQLite file: who reads waits for nobody."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from profiler_core.store import history
from profiler_core.store.history import database


def test_a_process_that_begins_to_read_waits_for_no_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(database, "_WAIT_S", 0.2)
    assert history.n_runs() == 0
    database.close_all()  # as in another process
    with closing(sqlite3.connect(tmp_path / "history.sqlite3", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert history.n_runs() == 0
