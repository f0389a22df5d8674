"""Captures of another machine on the page Runs: only where a history or artifacts are shared."""

import pytest
from streamlit.testing.v1 import AppTest

from profiler_core.store import history, library
from profiler_core.store.history import database
from tests.store.history.samples import redated_copy


def listed() -> None:
    from profiler_core.ui.runs.elsewhere import show_captures_elsewhere

    show_captures_elsewhere()


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A capture that another machine recorded, seen from this one."""
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", (tmp_path / "kept").as_uri())
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", f"sqlite:///{tmp_path}/history.sqlite3")
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "there"))
    for variant in ("eager", "default"):
        history.record(
            redated_copy(
                tmp_path / "there", "c1", variant=variant, environment={"host": "<b>big</b>"}
            )
        )
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "here"))
    yield tmp_path
    database.close_all()


def texts(app):
    return " ".join(element.proto.body for element in app.get("html"))


def test_another_machine_s_capture_is_listed_and_opens(shared):
    app = AppTest.from_function(listed, default_timeout=300).run()
    assert not app.exception
    text = texts(app)
    assert "On other machines" in text
    assert "eager, default" in text
    assert "<b>big</b>" not in text
    keys = [library.key_of_recorded(run) for run in history.runs()]
    assert all(key.startswith("history/") for key in keys)
    assert [library.entry(key).run.workload for key in keys] == ["breaky", "breaky"]


def test_a_machine_that_shares_nothing_asks_no_database(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    app = AppTest.from_function(listed, default_timeout=300).run()
    assert not app.exception
    assert texts(app) == ""
    assert not list(tmp_path.glob("*.sqlite3"))
