"""Agents try a change of the code: what is started, for whom, and the one answer at the end."""

import json
from types import SimpleNamespace

import anyio
import pytest
from mcp.client import Client

from profiler_core import home
from profiler_core.agents import patching
from profiler_core.agents.serve import server
from profiler_core.door import deeds
from profiler_core.door.asker import Asker, Refused
from profiler_core.errors import BadInput
from tests.agents.offered import offered
from tests.session.test_patched import pair

TOOLS = {"start_patch", "patch_progress"}
PATCH = "--- a/model.py\n+++ b/model.py\n@@ -1 +1 @@\n-a = 1\n+a = 2"
MOST_BYTES = 12_000  # an answer is read by a model


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


def test_the_tools_are_there_only_where_captures_are():
    assert offered(allow_capture=True) >= TOOLS
    assert not TOOLS & offered(allow_capture=False)


def test_the_patch_is_kept_by_its_content_and_captured_against_the_file(monkeypatch):
    asked = []
    monkeypatch.setattr(deeds, "start_capture", lambda asker, spec: asked.append(spec) or "job")
    monkeypatch.setattr(patching, "patch_progress", lambda job: job)
    assert patching.start_patch("model.py:build", PATCH, options=["size=8"]) == "job"
    assert patching.start_patch("model.py:build", PATCH, "reduce-overhead") == "job"
    (kept,) = (home.home_directory() / "patches").iterdir()
    assert kept.read_text() == f"{PATCH}\n"
    assert kept.stat().st_mode & 0o777 == 0o600
    first, second = asked
    assert first.against == second.against == f"patch:{kept}"
    assert [variant.label for variant in first.variants] == ["default"]
    assert [variant.label for variant in second.variants] == ["reduce-overhead"]
    assert first.options == (("size", "8"),)


def test_what_is_not_started(monkeypatch):
    with pytest.raises(BadInput, match="names another version of a file"):
        patching.start_patch("customcnn", PATCH)
    with pytest.raises(BadInput, match="characters"):
        patching.start_patch("model.py:build", "-" * 300_000)
    team = Asker("ada", ("look", "capture"), signed_in=True, is_agent=True)
    monkeypatch.setattr(patching, "agent", lambda: team)
    with pytest.raises(Refused):
        patching.start_patch("model.py:build", PATCH)
    assert not (home.home_directory() / "patches").exists()


def test_a_team_server_takes_no_code_from_an_agent(monkeypatch):
    team = Asker("ada", ("look", "capture"), signed_in=True, is_agent=True)
    monkeypatch.setattr(patching, "agent", lambda: team)
    monkeypatch.setattr("profiler_core.door.patching.check_may_capture", lambda asker: asker)
    with pytest.raises(Refused, match="A patch is code"):
        patching.start_patch("model.py:build", PATCH)


@pytest.mark.parametrize("state", ["running", "finished"])
def test_the_verdict_comes_with_the_end_in_one_small_answer(tmp_path, monkeypatch, state):
    folder = tmp_path / "runs" / "one"
    pair(folder, 500_000)
    progress = SimpleNamespace(job="j", state=state, text="It is timed", error=None)
    monkeypatch.setattr(patching, "capture_progress", lambda *_: progress)
    monkeypatch.setattr(patching.jobs, "job", lambda _: SimpleNamespace(result=folder))

    async def asked():
        async with Client(server(allow_capture=True)) as client:
            answer = await client.call_tool("patch_progress", {"job": "j"})
            return answer.content[0].text

    text = anyio.run(asked)
    answer = json.loads(text)
    assert answer["state"] == state
    if state == "running":
        assert answer["verdict"] is None
        return
    assert answer["verdict"]["outcome"] == "faster"
    assert answer["verdict"]["gate"]["outcome"] == "pass"
    assert answer["verdict"]["numerics"] == "right"
    assert len(text) < MOST_BYTES
