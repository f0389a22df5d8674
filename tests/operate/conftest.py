"""A home with an empty history, and the moments at which it records."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from profiler_core.store.history import audit, database, recording, trash, trash_list


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of its own, with a history on SQLite and no artifacts."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FUSIONSCOPE_PERSON", "Ada")
    monkeypatch.delenv("FUSIONSCOPE_ARTIFACTS_URL", raising=False)
    monkeypatch.delenv("FUSIONSCOPE_DATABASE_URL", raising=False)
    yield tmp_path / "home"
    database.close_all()


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets the clock by which runs are recorded and deeds noted, "2026-11-21T12:00:00Z"."""

    def set_clock(moment: str) -> None:
        monkeypatch.setattr(recording, "now", lambda: moment)
        monkeypatch.setattr(audit, "now", lambda: moment)
        monkeypatch.setattr(trash, "now", lambda: moment)
        monkeypatch.setattr(trash_list, "now", lambda: moment)

    return set_clock
