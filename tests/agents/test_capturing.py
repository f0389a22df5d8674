"""Waiting for a capture and stopping it, as an agent asks for it; most jobs are made up."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import msgspec
import pytest
from mcp.client import Client

from profiler_core.agents import capturing
from profiler_core.agents.serve import server
from profiler_core.door import deeds
from profiler_core.door.asker import AGENT, Refused
from profiler_core.errors import BadInput
from profiler_core.jobs.capture_progress import CaptureProgress
from profiler_core.jobs.directory import JobSpec
from profiler_core.jobs.service import Job

JOB = Job(
    job_id="20261122-120000-abcdef",
    directory=Path("none"),
    spec=JobSpec(
        job_id="20261122-120000-abcdef", command=(), title="bert · eager", device="cpu",
        submitted_at=0.0, owner=AGENT, host="here", out=None,
    ),
    state="running",
    error=None,
    started_at=0.0,
    ended_at=None,
    heartbeat_at=0.0,
    cancel_requested=False,
    waiting_for=None,
    progress=CaptureProgress(),
)  # fmt: skip


@pytest.fixture
def states(monkeypatch):
    """The states that the job has, one for each time that it is looked at; the last one stays."""
    remaining = []

    def job(job_id):
        state = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        return replace(JOB, state=state)

    monkeypatch.setattr(capturing.jobs, "job", job)
    monkeypatch.setattr(capturing, "_POLL_S", 0.001)
    return remaining


def test_waiting_ends_with_the_capture(states):
    states += ["queued", "running", "running", "finished"]
    assert capturing.capture_progress(JOB.job_id, wait_seconds=60).state == "finished"


def test_waiting_ends_with_its_time(states):
    states += ["running"]
    assert capturing.capture_progress(JOB.job_id, wait_seconds=0.01).state == "running"


def test_without_waiting_it_is_looked_at_once(states):
    states += ["running", "finished"]
    assert capturing.capture_progress(JOB.job_id).state == "running"


@pytest.mark.parametrize("seconds", [-1, 301])
def test_a_wait_out_of_bounds_is_refused(states, seconds):
    states += ["finished"]
    with pytest.raises(BadInput, match=f"wait_seconds is {seconds}"):
        capturing.capture_progress(JOB.job_id, wait_seconds=seconds)


def test_a_capture_of_an_agent_is_cancelled_and_written_down(states, monkeypatch):
    states += ["running"]
    done = []
    monkeypatch.setattr(deeds, "write_down", lambda asker, *words: done.append(words))
    monkeypatch.setattr(deeds.jobs, "cancel", done.append)
    assert capturing.cancel_capture(JOB.job_id).job == JOB.job_id
    assert done == [("cancel", "bert · eager"), JOB.job_id]


@pytest.mark.parametrize(
    ("state", "owner", "error", "words"),
    [
        ("finished", AGENT, BadInput, "has ended already: finished"),
        ("running", "ada", Refused, "was not started by an agent"),
        ("running", None, Refused, "was not started by an agent"),
    ],
)
def test_what_an_agent_may_not_cancel(monkeypatch, state, owner, error, words):
    spec = msgspec.structs.replace(JOB.spec, owner=owner)
    monkeypatch.setattr(deeds.jobs, "job", lambda job_id: replace(JOB, state=state, spec=spec))
    monkeypatch.setattr(deeds.jobs, "cancel", lambda job_id: pytest.fail("it was cancelled"))
    with pytest.raises(error, match=words):
        capturing.cancel_capture(JOB.job_id)


SLOW = """
import time
import torch

def build(seconds=600.0):
    time.sleep(seconds)
    return torch.nn.Linear(2, 2), (torch.zeros(1, 2),)
"""


@pytest.mark.torch
@pytest.mark.timeout(300)
def test_an_agent_starts_waits_and_cancels_over_the_client(tmp_path, monkeypatch, quick_python):
    """A real job: what is stopped says so within the wait, and what ended has its runs."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    (tmp_path / "slow.py").write_text(SLOW)
    short = {
        "workload": f"{tmp_path}/slow.py:build", "variants": "eager", "device": "cpu", "rounds": 2,
        "python": str(quick_python), "round_steps": 2, "round_seconds": 0.0, "profile": False,
        "memory": False, "numerics": False, "warm_compile": False, "telemetry_seconds": 0.0,
    }  # fmt: skip

    async def talk():
        async with Client(server(allow_capture=True)) as client:

            async def ask(tool, **arguments):
                answer = await client.call_tool(tool, arguments)
                assert not answer.is_error, answer.content[0].text
                return json.loads(answer.content[0].text)

            endless = (await ask("start_capture", **short))["job"]
            waited = await ask("capture_progress", job=endless, wait_seconds=0.6)
            await ask("cancel_capture", job=endless)
            stopped = await ask("capture_progress", job=endless, wait_seconds=120)
            quick = (await ask("start_capture", **short, options=["seconds=0"]))["job"]
            return waited, stopped, await ask("capture_progress", job=quick, wait_seconds=240)

    waited, stopped, ended = anyio.run(talk)
    assert waited["state"] in ("queued", "running")
    assert stopped["state"] == "cancelled"
    assert ended["state"] == "finished" and len(ended["runs"]) == 1, ended
