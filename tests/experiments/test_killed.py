"""A job of an experiment whose supervisor is killed -9 in the middle of the search."""

import os
import signal
import sys

import pytest

from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.capture.spec import CaptureSpec
from profiler_core.experiments.request import new_experiment
from profiler_core.jobs import directory as files
from profiler_core.jobs import resuming
from profiler_core.jobs import service as jobs
from profiler_core.store.experiments import read_experiment, write_experiment
from tests.jobs.waiting import wait_for


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


def test_it_starts_again_by_itself_and_measures_nothing_twice(tmp_path):
    out, log = tmp_path / "runs", tmp_path / "begun"
    spec = CaptureSpec(workload="customcnn", device="cpu")
    levers = ("mode", "precision", "freezing")
    asked = new_experiment(spec, budget_s=10_000.0, levers=levers)
    write_experiment(out, asked)
    words = ["-m", "tests.experiments.killed", str(out), asked.experiment_id, str(log)]
    job_id = jobs.submit(
        [sys.executable, *words], title="try", kind="try", device="cpu", out=out,
        subject=asked.experiment_id,
    )  # fmt: skip
    wait_for(lambda: log.exists() and len(log.read_text().splitlines()) == 3)
    job = jobs.job(job_id)
    os.kill(int((job.directory / files.ALIVE).read_text()), signal.SIGKILL)
    wait_for(lambda: not files.is_supervised(job.directory, files.read_spec(job.directory)))
    kept = read_experiment(out, asked.experiment_id)
    assert len(kept.batches) == 2

    assert resuming.resume_interrupted() == (job_id,)
    wait_for(lambda: not jobs.job(job_id).is_live)
    assert jobs.job(job_id).state == "finished"
    ended = read_experiment(out, asked.experiment_id)
    assert ended.batches[:2] == kept.batches
    assert {word for _, word in leader_of(ended).setting} == {"freezing=true", "bf16-autocast"}
    begun = log.read_text().splitlines()
    assert begun[2] == begun[3], "the capture that was killed is the one that is made again"
    assert len(begun) == len(ended.batches) + 1
