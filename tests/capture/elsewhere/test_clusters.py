"""Captures as jobs of Slurm and Kubernetes, whose programs are fakes that run what they get."""

import json
import os

import pytest

from profiler_core.capture.elsewhere import kubernetes, slurm
from profiler_core.capture.elsewhere.near import capture_there
from profiler_core.cli.main import main
from profiler_core.errors import Cancelled, CaptureFailed
from profiler_core.ingest.run import open_run
from profiler_core.settings import Host
from tests.capture.conftest import TINY
from tests.quick_python import ENVIRONMENT

from .conftest import fake_programs

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def cluster(tmp_path, monkeypatch):
    """The folder in which the fakes keep what they know; their programs come first on the PATH."""
    state, programs = tmp_path / "cluster", fake_programs(tmp_path)
    state.mkdir()
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(slurm, "_LOOK_EVERY_S", 0.2)
    monkeypatch.setattr(kubernetes, "_LOOK_EVERY_S", 0.05)
    return state


def lead(plan, is_cancelled=lambda: False, listener=lambda _: None):
    return capture_there(plan, progress_file=None, listener=listener, is_cancelled=is_cancelled)


def slurm_host(*options):
    return Host(slurm=True, slurm_options=options)


def test_a_sweep_as_a_job_of_slurm(cluster, tmp_path, quick_python, capsys):
    out = tmp_path / "runs"
    status = main(
        ["capture", f"{TINY}:model", "--slurm", "--slurm-option=--gres=gpu:1",
         f"--python={quick_python}", "--variants=eager", "--device=cpu", "--rounds=1",
         "--round-steps=1", "--round-seconds=0", "--no-profile", "--no-numerics",
         "--no-warm-compile", "--sweep=batch-size=2,4", f"--out={out}", "--json",
         f"--progress={tmp_path}/progress.jsonl"],
    )  # fmt: skip
    said = capsys.readouterr()
    assert status == 0, said.err
    answer = json.loads(said.out)
    assert [point["value"] for point in answer["captures"]] == [2, 4]
    assert answer["result"] is not None
    assert "--gres=gpu:1" in (cluster / "options").read_text().splitlines()
    assert sorted(path.name for path in out.iterdir()) == sorted(
        point["capture_id"] for point in answer["captures"]
    )
    lines = (tmp_path / "progress.jsonl").read_text().splitlines()
    assert [json.loads(line)["phase"] for line in lines].count("point") == 2
    assert "exec " in said.err and "sbatch --parsable" in said.err


def test_a_cancelled_job_leaves_readable_runs(plan, quick_python):
    phases = []
    made = plan(f"{TINY}:slow", host=slurm_host(), python=str(quick_python), rounds=100_000)
    (folder,) = lead(made, lambda: "timing" in phases, lambda line: phases.append(line.phase))
    assert open_run(folder / "eager").record.status == "cancelled"
    assert sorted(made.out.iterdir()) == [folder]


def test_a_job_that_slurm_ended_leaves_failed_runs(cluster, plan, quick_python):
    """Out of time, it is killed: nobody wrote what became of its runs."""
    killed = []

    def listen(line):
        if line.phase == "timing" and not killed:
            (cluster / "ended").write_text("TIMEOUT")
            killed.append(os.kill(int((cluster / "pid").read_text()), 9))

    made = plan(f"{TINY}:slow", host=slurm_host(), python=str(quick_python), rounds=100_000)
    (folder,) = lead(made, listener=listen)
    record = open_run(folder / "eager").record
    assert record.status == "failed"
    assert "Slurm's job 4711 ended before all was measured (TIMEOUT)" in record.error
    assert "--slurm-option=--time=60" in record.error


def test_a_job_that_waits_is_cancelled(plan):
    said = []
    made = plan(f"{TINY}:slow", host=slurm_host("--hold=1"))
    with pytest.raises(Cancelled):
        lead(made, lambda: any(line.phase == "queued" for line in said), said.append)
    assert any("job 4711 (Resources)" in line.text for line in said)


def test_what_slurm_does_not_take(plan, tmp_path):
    with pytest.raises(CaptureFailed, match=r"Slurm did not take the job: .*invalid partition"):
        lead(plan(f"{TINY}:slow", host=slurm_host("--partition=none")))


def test_why_a_job_captured_nothing(plan, tmp_path):
    made = plan(f"{TINY}:slow", host=slurm_host(), python=str(tmp_path / "python"))
    with pytest.raises(CaptureFailed, match="does not exist"):
        lead(made)
    assert not made.out.exists()


def test_where_there_is_no_slurm_or_kubectl(plan, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(CaptureFailed, match="sbatch is not on the PATH"):
        lead(plan(f"{TINY}:slow", host=slurm_host()))
    with pytest.raises(CaptureFailed, match="kubectl is not on the PATH"):
        lead(plan("customcnn", host=Host(kubernetes=True, image="x")))


def test_a_job_of_kubernetes_comes_home_and_is_deleted(cluster, plan, quick_python):
    said = []
    host = Host(kubernetes=True, image="torch:2", namespace="ml", context="prod")
    (folder,) = lead(
        plan(f"{TINY}:model", host=host, python=str(quick_python)), listener=said.append
    )
    assert open_run(folder / "eager").record.status == "finished"
    assert not (cluster / "job.json").exists()
    calls = (cluster / "calls").read_text().splitlines()
    assert all(call.startswith("--context=prod --namespace=ml ") for call in calls)
    assert any("ContainerCreating" in line.text for line in said)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("gone", "ImagePullBackOff: Back-off pulling image"),
        ("forbidden", "jobs.batch is forbidden"),
    ],
)
def test_a_job_that_does_not_start(cluster, plan, image, words):
    with pytest.raises(CaptureFailed, match=words):
        lead(plan("customcnn", host=Host(kubernetes=True, image=image)))
    assert not (cluster / "job.json").exists()
