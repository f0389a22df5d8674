"""What the server itself does wrong is never told to a program as a fault of what it sent."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from profiler_core.door import deeds
from profiler_core.errors import ServerFault
from profiler_core.jobs import directory as files
from profiler_core.jobs import service as jobs
from profiler_core.jobs import starting
from profiler_core.store.history import database
from profiler_core.store.history.artifacts import artifacts
from tests.attack.api import Answer, call, token_of
from tests.attack.conftest import RUNNER, TEAM, Server

# What a process meets whose files are replaced while it starts, by an upgrade.
HALF_UPGRADED = "from profiler_core.store.history.receiving import not_there_yet"
TOO_FEW = '{"event": "result", "value": {"keys": []}}'  # an answer of another version's process


@pytest.fixture
def team(server: Server) -> Iterator[Server]:
    server.is_at("127.0.0.1", TEAM)
    yield server
    database.close_all()


def push(caplog: pytest.LogCaptureFixture) -> Answer:
    text = token_of(RUNNER, "upload")
    with caplog.at_level(logging.WARNING):
        answer = call("POST", "/api/runs", text, b"some bytes")
    assert "ImportError" not in answer.body.decode()
    assert "receiving.py" not in answer.body.decode()
    return answer


def test_a_process_that_cannot_import_is_the_servers_fault(
    team: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It was told the end of the traceback, as if another file would do."""
    words = [sys.executable, "-c", HALF_UPGRADED]
    monkeypatch.setattr(deeds, "module_words", lambda *_: words)
    answer = push(caplog)
    assert (answer.status, "cannot do it now" in answer.problem) == (503, True), answer.body
    assert "ImportError: cannot import name 'not_there_yet'" in caplog.text
    (job,) = jobs.jobs()
    assert job.state == "failed"
    assert "not_there_yet" in jobs.log_tail(job.job_id)  # the whole of it


def test_an_answer_of_another_version_is_the_servers_fault(
    team: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    words = [sys.executable, "-c", f"print({TOO_FEW!r})"]
    monkeypatch.setattr(deeds, "module_words", lambda *_: words)
    answer = push(caplog)
    assert (answer.status, "cannot do it now" in answer.problem) == (503, True), answer.body
    assert "an answer of another kind" in caplog.text


def test_a_supervisor_that_does_not_start_is_the_servers_fault(
    team: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_module: str, directory: str, **_: object) -> int:
        said = "ImportError: cannot import name 'x' from 'receiving.py'\n"
        Path(directory, files.SUPERVISOR_LOG).write_text(said)
        return 1

    monkeypatch.setattr(starting, "run_detached", broken)
    answer = push(caplog)
    assert (answer.status, "cannot do it now" in answer.problem) == (503, True), answer.body
    assert "ImportError: cannot import name 'x'" in caplog.text


def test_a_home_that_takes_no_job_is_the_servers_fault(
    team: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(starting.files, "mark_live", full)
    assert push(caplog).status == 503
    assert "cannot be written: No space left" in caplog.text


def test_an_artifacts_url_whose_package_is_missing_is_the_servers_fault(
    team: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each push was refused as if its file were wrong, with the words of pip."""

    def missing(_: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", "s3://bucket/runs")
    monkeypatch.setattr("profiler_core.store.history.artifacts.fsspec.url_to_fs", missing)
    with pytest.raises(ServerFault, match="cannot be opened: Install s3fs"):
        artifacts()
