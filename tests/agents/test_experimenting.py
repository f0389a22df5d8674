"""Agents try settings: started, followed and ended, with what an agent may see and do."""

import json

import anyio
import pytest
from mcp.client import Client

from profiler_core import home
from profiler_core.agents import experimenting
from profiler_core.agents.serve import server
from profiler_core.capture.spec import CaptureSpec
from profiler_core.cli.main import main
from profiler_core.door import experimenting as door
from profiler_core.door.asker import Asker, Refused
from profiler_core.errors import BadInput
from profiler_core.experiments.best import best_run
from profiler_core.experiments.request import new_experiment, spec_of
from profiler_core.session.run import Run
from tests.agents.offered import offered
from tests.analysis.experiment.worlds import World
from tests.experiments.made_up import Machine, runner

TOOLS = {"start_try", "try_progress", "cancel_try"}
MOST_BYTES = 12_000  # an answer is read by a model


@pytest.fixture
def ended(monkeypatch, tmp_path):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    machine = Machine(World({"freezing=true": 0.8, "max-autotune": 1.3}), monkeypatch)
    spec = CaptureSpec(workload="customcnn", device="cpu")
    asked = new_experiment(spec, budget_s=1000.0, levers=("mode", "freezing"))
    return runner(machine, asked, home.runs_directory(), spec_of(asked)).run()


def test_the_tools_are_there_only_where_captures_are():
    assert offered(allow_capture=True) >= TOOLS
    assert not TOOLS & offered(allow_capture=False)


def test_an_agent_reads_the_result_in_few_words(ended):
    async def asked():
        async with Client(server(allow_capture=True)) as client:
            answer = await client.call_tool("try_progress", {"experiment": ended.experiment_id})
            return answer.content[0].text

    text = anyio.run(asked)
    answer = json.loads(text)
    assert answer["best"]["variant"] == "default+freezing=true"
    assert 'options={"freezing": True}' in answer["best"]["code"]
    assert answer["harmful"]["word"] == "max-autotune"
    assert answer["state"] == "finished"
    assert len(text) < MOST_BYTES


def test_what_an_agent_starts_is_submitted_by_the_door(ended, monkeypatch):
    submitted = []
    monkeypatch.setattr(
        door.jobs, "submit", lambda words, **about: submitted.append((words, about))
    )
    monkeypatch.setattr(door, "write_down", lambda *_, **__: None)
    answer = experimenting.start_try("customcnn", "5m", ["mode"], options=["size=32"])
    ((words, about),) = submitted
    assert {"--budget=300s", "--levers=mode", "--option=size=32"} <= set(words)
    assert about["subject"] == answer.experiment
    assert answer.headline == "Nothing is measured yet."


@pytest.mark.parametrize(
    "asked", [{"levers": ["a=\0"]}, {"levers": ["mode", "a=\ud800"]}, {"start": "default+a=\0"}]
)
def test_what_can_stand_in_no_command_is_refused_and_not_queued(ended, monkeypatch, asked):
    """It was accepted, and queued."""
    submitted = []
    monkeypatch.setattr(door.jobs, "submit", lambda *words, **_: submitted.append(words))
    monkeypatch.setattr(door, "write_down", lambda *words, **_: submitted.append(words))
    with pytest.raises(Refused, match="cannot be passed to a command"):
        experimenting.start_try("customcnn", **asked)
    assert submitted == []


def test_what_an_agent_may_not(ended, monkeypatch):
    with pytest.raises(BadInput, match="has ended already"):
        experimenting.cancel_try(ended.experiment_id)
    with pytest.raises(BadInput, match="wait_seconds is 301"):
        experimenting.try_progress(ended.experiment_id, 301)
    looks = Asker("ada", ("look",), signed_in=True, is_agent=True)
    monkeypatch.setattr(experimenting, "agent", lambda: looks)
    with pytest.raises(Refused):
        experimenting.start_try("customcnn")


def test_a_run_is_judged_against_the_best_that_was_found(ended, capsys):
    batch = ended.batches[0]
    plain = home.runs_directory() / batch.capture_id / "default"
    best = best_run(home.runs_directory(), Run.open(plain).record)
    assert best.name == "default+freezing-true"
    assert main(["gate", str(plain), "--against-best", "--max-step-time", "+10%", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["outcome"] == "regression"
    assert main(["gate", str(best), "--against-best", "--max-step-time", "+10%"]) in (0, 3)


def test_without_an_experiment_there_is_no_best(ended):
    batch = ended.batches[0]
    record = Run.open(home.runs_directory() / batch.capture_id / "default").record
    record.spec["batch_size"] = 64
    with pytest.raises(BadInput, match="No experiment on"):
        best_run(home.runs_directory(), record)
