"""The home of thousands of runs that pages and the database are measured with."""

import sys

from sqlalchemy import func, select

from benchmarks import large_library
from profiler_core.store.history import database
from profiler_core.store.history.tables import runs


def test_its_runs_stand_in_the_history(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    argv = ["large_library", str(tmp_path), "--captures", "2", "--variants", "3", "--deeds", "4"]
    monkeypatch.setattr(sys, "argv", argv)
    large_library.main()
    with database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(runs)).scalar() == 6
