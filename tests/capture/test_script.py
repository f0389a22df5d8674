"""`fusionscope run`: the command's environment, what it leaves, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from profiler_core.capture.handover import IMPORTABLE, OUT
from profiler_core.capture.script.interpreter import python_of
from profiler_core.capture.script.launch import script_environment
from profiler_core.cli.main import main
from profiler_core.ingest.run import open_run
from tests.quick_python import ENVIRONMENT

TRAIN = str(Path(__file__).resolve().parents[1] / "record" / "scripts" / "train.py")
ROOT = Path(__file__).resolve().parents[2]


def test_the_interpreter_of_a_command(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    python = tmp_path / "python3.9"
    scripts = {
        "torchrun": f"#!{python}\nimport sys\n",
        "accelerate": f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
        "via-env": "#!/usr/bin/env python3.9\n",
        "a-shell-script": "#!/bin/sh\npython train.py\n",
        "python3.9": "binary",
    }
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    found = {name: python_of(name) for name in [*scripts, "not-there"]}
    assert found == {
        "torchrun": str(python),
        "accelerate": str(python),
        "via-env": str(python),
        "a-shell-script": None,
        "python3.9": str(python),
        "not-there": None,
    }


def test_the_environment_adds_and_keeps(tmp_path):
    found = script_environment(
        tmp_path,
        ("recompiles", "graph_breaks", "fusion"),
        out=tmp_path / "runs",
        further_logs=("fusion",),
        inherited={
            "TORCH_LOGS": "aot,+graph_breaks",
            "TORCH_LOGS_OUT": "/elsewhere",
            "PYTHONPATH": "/mine",
            "HOME": "/home/me",
        },
    )
    assert found["TORCH_LOGS"] == "aot,+graph_breaks,+recompiles,fusion"
    assert "TORCH_LOGS_OUT" not in found
    assert found["PYTHONPATH"] == f"{IMPORTABLE}{os.pathsep}/mine"
    assert found[OUT] == str(tmp_path / "runs")
    assert found["HOME"] == "/home/me"
    assert "TORCHINDUCTOR_CACHE_DIR" not in found


def test_what_is_no_command_is_said(capsys):
    assert main(["run"]) == 2
    assert "No command is given." in capsys.readouterr().err
    assert main(["run", "--", "no-such-program"]) == 2
    assert "There is no program no-such-program." in capsys.readouterr().err


def start(tmp_path, *command, options=(), **variables):
    run = [sys.executable, "-m", "profiler_core", "run", "--out", str(tmp_path)]
    return subprocess.Popen(
        [*run, *options, "--", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_script_without_a_recorder_hears_what_to_add(tmp_path):
    process = start(tmp_path, "sh", "-c", "echo own; exit 7")
    stdout, stderr = process.communicate()
    assert process.returncode == 7
    assert stdout == "own\n"
    assert "exit status 7 before anything was recorded. If there is no Recorder" in stderr
    assert "from profiler_core.record import Recorder" in stderr
    assert not list(tmp_path.iterdir())
    stderr = start(tmp_path, "true").communicate()[1]
    assert "The script made no recording. Add to it:\n\n    from profiler_core" in stderr


@pytest.mark.torch
@pytest.mark.timeout(900)  # compiles with an empty cache
def test_the_kept_stderr_and_the_structured_log_are_in_the_run(tmp_path, quick_python):
    command = (quick_python, TRAIN, "ignored", "default")
    process = start(tmp_path, *command, options=["--json", "--cold"], **ENVIRONMENT)
    stdout, stderr = process.communicate()
    assert process.returncode == 0, stderr
    (said,) = json.loads(stdout)["runs"]
    assert said["status"] == "finished"
    assert said["n_rounds"] == 10
    assert said["step_time_ns"] > 0
    run = open_run(Path(said["directory"]))
    assert run.path.parent == tmp_path
    assert len(run.torch_trace) == 1
    assert "graph_breaks" in run.record.environment["variables"]["TORCH_LOGS"]
    (log,) = run.torch_logs
    assert log.read_text().splitlines()[0] in stderr  # all of it, as the terminal showed it
    assert run.record.measurement.notes == ()
    assert "tiny default recorded" in stderr


@pytest.mark.torch
def test_a_killed_script_leaves_a_failed_run(tmp_path, quick_python):
    words = ("ignored", "eager", "--die-at", "30", "--die", "kill")
    process = start(tmp_path, quick_python, TRAIN, *words, options=["--json"], **ENVIRONMENT)
    stdout, _ = process.communicate()
    assert process.returncode == 128 + signal.SIGKILL
    (said,) = json.loads(stdout)["runs"]
    record = open_run(Path(said["directory"])).record
    assert record.status == said["status"] == "failed"
    assert "(killed by SIGKILL); 6 timed rounds are kept." in record.error
    assert len(record.measurement.rounds) == 6


@pytest.mark.torch
def test_an_interrupt_is_passed_on(tmp_path):
    process = start(
        tmp_path, sys.executable, TRAIN, "ignored", "eager", "--die-at", "5", "--die", "wait"
    )
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate()
    assert process.returncode == 128 + signal.SIGINT
    (folder,) = tmp_path.iterdir()
    record = open_run(folder).record
    assert record.status == "cancelled"
    assert record.error.startswith("Stopped by Ctrl-C after 6 steps, in the warm-up.")
    assert "KeyboardInterrupt" in stderr  # the script's own end
