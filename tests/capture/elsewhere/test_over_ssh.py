"""Captures over ssh, on this machine: the real client, a real server, real captures."""

import json
import os
import shutil
import time

import pytest

from profiler_core.capture.elsewhere import bundle, near
from profiler_core.capture.elsewhere.near import capture_there
from profiler_core.cli.main import main
from profiler_core.errors import Cancelled, CaptureFailed
from profiler_core.ingest.run import open_run
from profiler_core.settings import Host
from tests.capture.conftest import processes_with
from tests.jobs.waiting import wait_for
from tests.quick_python import environment
from tests.ssh_server import own_ssh_server

from .conftest import fake_programs, there

pytestmark = pytest.mark.torch
WITHIN_S = 240.0


def left_on(server):
    """What is still there of captures."""
    return list(there(server).glob("fusionscope-*"))


def working_on(server):
    """The processes that were started over ssh, and theirs."""
    return set(processes_with(f"TMPDIR={there(server)}"))


def lead(plan, is_cancelled=lambda: False, listener=lambda _: None, progress=None):
    return capture_there(plan, progress_file=progress, listener=listener, is_cancelled=is_cancelled)


def test_a_capture_runs_there_and_comes_home(
    on_path, project, tmp_path, quick_python, monkeypatch, capsys
):
    """Through the command line; the project's name is hostile, and its import is sent with it."""
    monkeypatch.setenv("SECRET_TOKEN", "of-this-machine")
    monkeypatch.chdir(tmp_path)
    progress, out = tmp_path / "progress.jsonl", tmp_path / "runs"
    status = main(
        ["capture", f"{project}/model.py:model", "--host=box", f"--python={quick_python}",
         "--variants=eager", "--device=cpu", "--rounds=1", "--round-steps=1", "--round-seconds=0",
         "--no-profile", "--no-numerics", "--no-warm-compile", f"--out={out}",
         f"--progress={progress}", "--json"],
    )  # fmt: skip
    said = capsys.readouterr()
    assert status == 0, said.err
    answer = json.loads(said.out)
    (run,) = answer["runs"]
    assert (run["variant"], run["status"]) == ("eager", "finished")
    assert run["directory"] == str(out / answer["capture_id"] / "eager")
    assert isinstance(run["step_time_ns"], int)
    assert progress.read_bytes() == (out / answer["capture_id"] / "progress.jsonl").read_bytes()
    assert "Timing round 1 of 1" in said.err
    assert "ssh -T" in said.err and "layers.py" in said.err  # what runs, before it does
    assert list(tmp_path.rglob("pwned")) == []
    assert left_on(on_path) == []  # nothing stays there
    assert "of-this-machine" not in json.dumps(answer)


def test_code_that_does_not_start_there_is_told_with_its_last_line(
    on_path, project, plan, quick_python, monkeypatch
):
    """Nothing else of ours is there: a part that was not sent left neither a run nor a word."""
    parts = [part for part in bundle._OUR_PARTS if part != "digits.py"]
    monkeypatch.setattr(bundle, "_OUR_PARTS", tuple(parts))
    with pytest.raises(CaptureFailed, match=r"box made no run: .*profiler_core\.digits"):
        lead(plan(f"{project}/model.py:model", python=str(quick_python)))


def test_cancelled_it_leaves_readable_runs_and_nothing_there(on_path, project, plan, quick_python):
    phases = []
    made = plan(f"{project}/model.py:slow", python=str(quick_python), rounds=100_000)
    (folder,) = lead(made, lambda: "timing" in phases, lambda line: phases.append(line.phase))
    assert open_run(folder / "eager").record.status == "cancelled"
    assert left_on(on_path) == []


def test_a_lost_connection_leaves_a_failed_run_and_no_process(on_path, project, plan, tmp_path):
    """With an interpreter as users have it: a forked one shows no environment."""
    is_cut = []
    before = working_on(on_path)  # what forks the children of other tests

    def listen(line):
        if line.phase == "timing" and not is_cut:
            is_cut.append(True)
            assert working_on(on_path) - before
            on_path.cut()

    progress = tmp_path / "progress.jsonl"
    made = plan(f"{project}/model.py:slow", rounds=100_000)
    (folder,) = lead(made, listener=listen, progress=progress)
    assert folder.parent == tmp_path / "runs"
    record = open_run(folder / "eager").record
    assert record.status == "failed"
    assert "The connection to box was lost" in record.error
    assert "Start the capture again" in record.error
    assert str(there(on_path)) in record.error
    lines = (folder / "progress.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["phase"] == "failed"
    assert lines == progress.read_text().splitlines()
    deadline = time.monotonic() + WITHIN_S
    while working_on(on_path) - before:
        assert time.monotonic() < deadline, "a process outlived the connection"
        time.sleep(0.1)
    (left,) = left_on(on_path)
    shutil.rmtree(left)


def test_paths_of_that_machine_are_taken_as_they_are(on_path, project, plan, quick_python):
    made = plan(
        f"{project}/model.py:raises_while_building", python=str(quick_python), is_code_there=True
    )
    assert made.project is None
    (folder,) = lead(made)
    record = open_run(folder / "eager").record
    assert record.status == "failed" and "the data set is empty" in record.error


def test_why_nothing_was_captured_is_said_as_it_is_here(on_path, plan, tmp_path):
    with pytest.raises(CaptureFailed) as raised:
        lead(plan(f"{tmp_path}/gone.py:f", is_code_there=True))
    assert raised.value.problem == f"{tmp_path}/gone.py does not exist."
    assert not (tmp_path / "runs").exists()
    assert left_on(on_path) == []


def test_an_interpreter_that_is_not_there(on_path, project, plan):
    with pytest.raises(CaptureFailed, match="box has no /no/python") as raised:
        lead(plan(f"{project}/model.py:model", python="/no/python"))
    assert "--python" in raised.value.remedy


@pytest.mark.parametrize(
    ("line", "words"),
    [("", "does not trust the host key of box"), ("other", "does not trust the host key of box")],
)
def test_an_unknown_or_changed_host_key_is_never_accepted(on_path, project, plan, line, words):
    """~/.ssh/config says StrictHostKeyChecking no, and that does not count."""
    key = on_path.known_hosts.read_text()
    public = (on_path.programs.parent / "user_key.pub").read_text()  # of somebody else
    on_path.known_hosts.write_text(f"[127.0.0.1]:{on_path.port} {public}" if line else "")
    before = on_path.known_hosts.read_text()
    try:
        with pytest.raises(CaptureFailed, match=words):
            lead(plan(f"{project}/model.py:model"))
        assert on_path.known_hosts.read_text() == before
    finally:
        on_path.known_hosts.write_text(key)


def test_who_is_not_let_in_is_told_so(on_path, project, plan, monkeypatch):
    authorized = on_path.programs.parent / "authorized_keys"
    kept = authorized.read_text()
    authorized.write_text("")
    try:
        with pytest.raises(CaptureFailed, match=r"box does not let you in: .*Permission denied"):
            lead(plan(f"{project}/model.py:model"))
    finally:
        authorized.write_text(kept)


def test_a_machine_that_does_not_answer(on_path, project, plan, tmp_path):
    with pytest.raises(CaptureFailed, match=r"127.0.0.1:1 cannot be reached: .*refused"):
        lead(plan(f"{project}/model.py:model", host=Host(ssh="127.0.0.1:1")))
    assert not (tmp_path / "runs").exists()


def test_cancelled_before_it_began(on_path, project, plan):
    with pytest.raises(Cancelled):
        lead(plan(f"{project}/model.py:model"), lambda: True)
    wait_for(lambda: left_on(on_path) == [])


def test_who_hears_nothing_ends_the_capture(on_path, project, plan, monkeypatch):
    """A network that is gone closes nothing: silence has to do."""
    monkeypatch.setattr("profiler_core.capture.elsewhere.plan._SILENT_S", 1.0)
    monkeypatch.setattr(near, "_STAYS_EVERY_S", 1e9)
    made = plan(f"{project}/model.py:slow", rounds=100_000)
    (folder,) = lead(made)
    assert open_run(folder / "eager").record.status == "failed"
    for left in left_on(on_path):
        shutil.rmtree(left)


def test_a_job_of_the_slurm_there_comes_home(project, tmp_path, plan, quick_python, monkeypatch):
    """The login node submits it: script, folder and Slurm are there, and ssh is between."""
    state, programs = tmp_path / "cluster", fake_programs(tmp_path)
    for folder in (state, tmp_path / "sshd", tmp_path / "shared"):
        folder.mkdir()
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    with own_ssh_server(tmp_path / "sshd", {"PATH": path, **environment()}) as login:
        monkeypatch.setenv("PATH", f"{login.programs}{os.pathsep}{os.environ['PATH']}")
        host = Host(
            ssh="box", slurm=True, slurm_options=("--gres=gpu:1",), folder=str(tmp_path / "shared")
        )
        (folder,) = lead(plan(f"{project}/model.py:model", host=host, python=str(quick_python)))
    assert open_run(folder / "eager").record.status == "finished"
    assert "--gres=gpu:1" in (state / "options").read_text().splitlines()
    assert list((tmp_path / "shared").iterdir()) == []
