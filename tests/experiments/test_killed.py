"""A job of an experiment whose supervisor is killed -9 in the middle of the search."""

import os
import signal
import sys

import pytest

from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import BadInput
from profiler_core.experiments.request import new_experiment
from profiler_core.jobs import directory as files
from profiler_core.jobs import resuming
from profiler_core.jobs import service as jobs
from profiler_core.store.experiments import held_by_one, read_experiment, write_experiment
from tests.jobs.waiting import wait_for


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


def test_a_killed_one_waits_for_somebody_and_then_measures_nothing_twice(tmp_path):
    out, log = tmp_path / "runs", tmp_path / "begun"
    spec = CaptureSpec(workload="customcnn", device="cpu")
    levers = ("mode", "precision", "freezing")
    asked = new_experiment(spec, budget_s=10_000.0, levers=levers)
    write_experiment(out, asked)
    words = ["-m", "tests.experiments.killed", str(out), asked.experiment_id, str(log)]

    def submitted():
        return jobs.submit(
            [sys.executable, *words], title="try", kind="try", device="cpu", out=out,
            subject=asked.experiment_id,
        )  # fmt: skip

    job_id = submitted()
    wait_for(lambda: log.exists() and len(log.read_text().splitlines()) == 3)
    assert read_experiment(out, asked.experiment_id).state == "running"
    with (
        pytest.raises(BadInput, match="Another process runs"),
        held_by_one(out, asked.experiment_id),
    ):
        raise AssertionError("two processes ran one experiment")
    job = jobs.job(job_id)
    os.kill(int((job.directory / files.ALIVE).read_text()), signal.SIGKILL)
    wait_for(lambda: not files.is_supervised(job.directory, files.read_spec(job.directory)))
    wait_for(lambda: read_experiment(out, asked.experiment_id).state == "interrupted")
    kept = read_experiment(out, asked.experiment_id)
    assert len(kept.batches) == 2

    # The next dashboard of this home leaves it alone, and says what can be done.
    assert resuming.resume_interrupted() == ()
    job = jobs.job(job_id)
    assert (job.state, job.remedy) == (
        "interrupted", "Resume it: what was measured is kept, and is not measured again.",
    )  # fmt: skip

    job_id = submitted()
    wait_for(lambda: not jobs.job(job_id).is_live)
    assert jobs.job(job_id).state == "finished"
    ended = read_experiment(out, asked.experiment_id)
    assert ended.batches[:2] == kept.batches
    assert {word for _, word in leader_of(ended).setting} == {"freezing=true", "bf16-autocast"}
    begun = log.read_text().splitlines()
    assert begun[2] == begun[3], "the capture that was killed is the one that is made again"
    assert len(begun) == len(ended.batches) + 1
