"""Captures on other machines reach none but those that the owner listed."""

from pathlib import Path

import pytest

from profiler_core.capture.spec import CaptureSpec, parse_sweep
from profiler_core.door import deeds
from profiler_core.door.asker import Asker, Refused
from profiler_core.errors import BadInput
from profiler_core.jobs import service as jobs
from profiler_core.store import history
from profiler_core.ui.sign_in.asker import asker
from tests.attack.conftest import RUNNER, TEAM, VIEWER, Server

LISTED = """allow_capture = true
[hosts.box]
ssh = "ada@gpu:2222"
python = "/opt/torch"
[hosts.broken]
kubernetes = true
"""


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """What would have been started: the words, and what else the job says."""
    seen: list[dict[str, object]] = []

    def submit(command: list[str], **more: object) -> str:
        seen.append({"command": command, **more})
        return "job"

    monkeypatch.setattr(jobs, "submit", submit)
    return seen


@pytest.mark.parametrize(
    "name",
    [
        "other", "ada@gpu:2222", "169.254.169.254", "-oProxyCommand=id", "box\n--host=other",
        "ssh://box", "Box",
    ],
)  # fmt: skip
def test_a_runner_cannot_reach_a_machine_outside_of_the_list(
    server: Server, submitted: list[dict[str, object]], name: str
) -> None:
    server.is_at("127.0.0.1", LISTED + TEAM, RUNNER)
    with pytest.raises(Refused, match="may not run on"):
        deeds.start_capture(asker(), CaptureSpec("customcnn"), name)
    assert submitted == []
    assert history.entries() == ()


@pytest.mark.parametrize(
    "more",
    [
        {"python": "/bin/sh"},
        {"sweep": parse_sweep("python=/opt/torch,/bin/sh")},
        {"against": "python:/bin/sh"},
    ],
)
def test_a_runner_cannot_name_an_interpreter_of_that_machine(
    server: Server, submitted: list[dict[str, object]], more: dict[str, object]
) -> None:
    server.is_at("127.0.0.1", LISTED + TEAM, RUNNER)
    with pytest.raises(Refused, match="/bin/sh may not be started there"):
        deeds.start_capture(asker(), CaptureSpec("customcnn", **more), "box")  # type: ignore[arg-type]
    assert submitted == []


def test_a_viewer_reaches_none(server: Server, submitted: list[dict[str, object]]) -> None:
    server.is_at("127.0.0.1", LISTED + TEAM, VIEWER)
    with pytest.raises(Refused, match="role here is viewer"):
        deeds.start_capture(asker(), CaptureSpec("customcnn"), "box")
    assert submitted == []


def test_a_listed_machine_is_reached_as_the_owner_wrote_it(
    server: Server, submitted: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/s3cret.sock")
    server.is_at("127.0.0.1", LISTED + TEAM, RUNNER)
    deeds.start_capture(asker(), CaptureSpec("customcnn"), "box")
    (job,) = submitted
    words = job["command"]
    assert isinstance(words, list)
    assert "--host=ssh://ada@gpu:2222" in words and "--python=/opt/torch" in words
    assert "s3cret" not in str(job["environment"])
    assert job["device"] != "auto"  # nobody here waits for the GPU there
    (entry,) = history.entries()
    assert "box" in str(entry)
    with pytest.raises(BadInput, match="needs an image"):
        deeds.start_capture(asker(), CaptureSpec("customcnn"), "broken")


def test_on_ones_own_machine_any_address_but_not_for_agents(
    home: Path, submitted: list[dict[str, object]]
) -> None:
    (home / "settings.toml").write_text(LISTED)
    me = Asker("me", deeds=("look", "capture"), is_own_machine=True)
    deeds.start_capture(me, CaptureSpec("customcnn", python="/x/python"), "eve@other")
    (job,) = submitted
    assert {"--host=ssh://eve@other", "--python=/x/python"} <= set(job["command"])  # type: ignore[call-overload]
    agent = Asker("me", deeds=("look", "capture"), is_own_machine=True, is_agent=True)
    with pytest.raises(Refused, match="may not run on"):
        deeds.start_capture(agent, CaptureSpec("customcnn"), "eve@other")
