"""The route that hands out a run as a .zip: to holders of its token, and nobody else."""

import io
import zipfile

import pytest

from profiler_core.store import history
from profiler_core.store.history import database
from profiler_core.ui.routes.run_zip import SCOPE
from profiler_core.ui.routes.token import sign
from tests.store.history.samples import redated_copy
from tests.ui.test_routes import ask

PATH = "/api/runs/export"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    history.record(redated_copy(tmp_path, "c1"))
    yield tmp_path
    database.close_all()


def test_a_token_names_the_run():
    answer = ask(PATH, {"token": sign(SCOPE, "c1.default")})
    assert answer.status == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="c1.default.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        assert archive.namelist() == ["default/run.json"]


@pytest.mark.parametrize("query", [{}, {"token": "x.y"}, {"run": "c1.default"}])
def test_without_a_token_nothing_is_handed_out(query):
    assert ask(PATH, query).status == 401


def test_a_token_for_something_else_is_refused():
    assert ask(PATH, {"token": sign("timeline", "c1.default")}).status == 401


def test_a_run_that_is_gone_is_a_sentence():
    answer = ask(PATH, {"token": sign(SCOPE, "../../etc/passwd")})
    assert answer.status == 422
    assert "has no run" in answer.problem


def test_a_download_that_can_be_recorded_nowhere_is_refused_in_a_sentence(home, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", "sqlite:////nowhere/at/all/history.sqlite3")
    (home / "audit_waiting.jsonl").mkdir()  # the folder takes nothing
    answer = ask(PATH, {"token": sign(SCOPE, "c1.default")})
    assert answer.status == 422
    assert "cannot be recorded" in answer.problem
