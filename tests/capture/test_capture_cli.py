"""`capture` and `doctor` as a shell sees them: exit status, JSON, signals."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from profiler_core.ingest.run import open_run
from tests.quick_python import variables

from .conftest import TINY, processes_with

pytestmark = pytest.mark.torch

QUICK = [
    "--device=cpu", "--rounds=1", "--round-steps=1", "--round-seconds=0",
    "--no-profile", "--no-numerics", "--no-warm-compile",
]  # fmt: skip
DEADLINE_S = 360


def command(home, *words, **variables):
    environment = {**os.environ, "FUSIONSCOPE_HOME": str(home), **variables}
    return [sys.executable, "-m", "profiler_core", *words], environment


def run(home, *words, **variables):
    argv, environment = command(home, *words, **variables)
    argv[0] = variables.get("QUICK_PYTHON", argv[0])
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)


def test_a_capture_prints_its_result_as_json_and_lies_in_the_library(tmp_path, quick_python):
    progress = tmp_path / "deep" / "progress.jsonl"
    done = run(
        tmp_path, "capture", f"{TINY}:model", "--variants=eager", *QUICK,
        "--progress", str(progress), "--json", **variables(quick_python),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["schema"] == 1
    (eager,) = answer["runs"]
    assert eager["status"] == "finished"
    assert isinstance(eager["step_time_ns"], int)
    assert eager["directory"].startswith(str(tmp_path / "runs"))
    assert progress.read_text() == (
        (tmp_path / "runs" / answer["capture_id"] / "progress.jsonl").read_text()
    )
    assert "Timing round 1 of 1" in done.stderr


def test_what_cannot_be_understood_is_said_without_a_traceback(tmp_path):
    done = run(tmp_path, "capture", "bert", "--variants", "fast")
    assert done.returncode == 2
    assert done.stderr.startswith("Variant 'fast' begins with 'fast'")
    assert not (tmp_path / "runs").exists()


def test_when_no_variant_can_be_measured_the_status_says_so(tmp_path, quick_python):
    workload = f"{TINY}:raises_while_building"
    done = run(tmp_path, "capture", workload, *QUICK, **variables(quick_python))
    assert done.returncode == 2
    assert "the data set is empty" in done.stdout
    assert "the data set is empty" not in done.stderr  # each error once
    assert "No variant could be measured" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{tmp}/gone.py:f"], "{tmp}/gone.py does not exist.\nPass an existing Python file."),
        (["customcnn", "--python=/no/python"], "The interpreter /no/python does not exist."),
        ([f"{TINY}:nowhere"], "tiny.py has no function nowhere."),
        (["nonesuch"], "Workload 'nonesuch' is neither built in nor a torchvision model."),
        (["customcnn", "--python=/no/python", "--sweep=batch-size=1,2"], "The interpreter /no/py"),
    ],
)
def test_what_no_variant_could_run_is_refused_before_a_folder_is_made(
    tmp_path, words, said, quick_python
):
    words = [word.format(tmp=tmp_path) for word in words]
    done = run(tmp_path, "capture", *words, *QUICK, **variables(quick_python))
    assert done.returncode == 2
    assert done.stdout == ""
    assert said.format(tmp=tmp_path) in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


TWO = "eager,eager+bf16-autocast"


@pytest.fixture
def timing(tmp_path, request):
    """A capture that is in the middle of its timing: (process, its home).

    Its children are as users have them, or forked from a process that has imported torch.
    """
    is_quick, variants = getattr(request, "param", (False, TWO))
    quick = variables(request.getfixturevalue("quick_python")) if is_quick else {}
    progress = tmp_path / "progress.jsonl"
    argv, environment = command(
        tmp_path, "capture", f"{TINY}:slow", f"--variants={variants}",
        *QUICK, "--rounds=100000", "--progress", str(progress), **quick,
    )  # fmt: skip
    process = subprocess.Popen(
        argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + DEADLINE_S
    while '"timing"' not in (progress.read_text() if progress.exists() else ""):
        assert process.poll() is None, "the capture ended by itself"
        assert time.monotonic() < deadline
        time.sleep(0.1)
    yield process, tmp_path
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    ("timing", "number", "statuses"),
    [
        ((True, TWO), signal.SIGINT, ["cancelled", "cancelled"]),
        ((False, "eager"), signal.SIGTERM, ["cancelled"]),
    ],
    indirect=["timing"],
)
def test_a_signal_cancels_and_leaves_nothing(timing, number, statuses):
    process, home = timing
    process.send_signal(number)
    assert process.wait(DEADLINE_S) == 130
    records = [open_run(path.parent).record for path in home.glob("runs/*/*/run.json")]
    assert [record.status for record in records] == statuses
    assert processes_with(f"FUSIONSCOPE_HOME={home}") == []


def test_children_follow_a_launcher_that_was_killed(timing):
    process, home = timing
    process.kill()
    process.wait()
    deadline = time.monotonic() + DEADLINE_S
    while processes_with(f"FUSIONSCOPE_HOME={home}"):
        assert time.monotonic() < deadline, "a child outlived its launcher"
        time.sleep(0.05)


def test_doctor_says_what_can_be_captured(tmp_path, quick_python):
    done = run(tmp_path, "doctor", "--json", **variables(quick_python))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["can_capture"] is True
    states = {finding["what"]: finding["state"] for finding in answer["findings"]}
    assert states["torch"] == "yes"
    assert states["workload customcnn"] == "yes"


def test_doctor_says_when_there_is_no_torch(tmp_path):
    done = run(tmp_path, "doctor", "--python", str(tmp_path / "python"))
    assert done.returncode == 3
    assert "does not exist" in done.stdout
