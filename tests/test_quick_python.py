"""The interpreter that forks does what a new one does."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick_python import torch_variables, variables

ROOT = Path(__file__).resolve().parents[1]
CAPTURE = ROOT / "tests" / "fixtures" / "captures" / "breaky.eager"


def asked(python, *words, cwd=ROOT, **more):
    return subprocess.run(
        [python, *map(str, words)], cwd=cwd, env={**os.environ, **more}, capture_output=True
    )


@pytest.mark.parametrize(
    "words",
    [("summary", CAPTURE, "--json"), ("summary", "no-such-run"), ("no-such-verb",)],
    ids=["an answer", "an error", "no verb"],
)
def test_a_verb_answers_as_in_a_new_interpreter(words, quick_python, home_with_columns):
    forked, new = (
        asked(python, "-m", "profiler_core", *words) for python in (quick_python, sys.executable)
    )
    assert (forked.returncode, forked.stdout) == (new.returncode, new.stdout)
    assert forked.stderr == new.stderr


def test_another_checkout_gets_an_interpreter_of_its_own(quick_python, tmp_path):
    (tmp_path / "profiler_core").mkdir()
    (tmp_path / "profiler_core" / "__main__.py").write_text("print('another')")
    assert asked(quick_python, "-m", "profiler_core", cwd=tmp_path).stdout == b"another\n"
    path = {"PYTHONPATH": str(tmp_path)}
    elsewhere = tmp_path.parent
    assert asked(quick_python, "-m", "profiler_core", cwd=elsewhere, **path).stdout == b"another\n"


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="forks on Linux only")
def test_a_dashboard_hears_that_it_is_to_end(quick_python, tmp_path):
    process = subprocess.Popen(
        [quick_python, "-m", "streamlit", "run", ROOT / "app.py",
         "--server.headless=true", "--server.port=0"],
        cwd=tmp_path,
        env={**os.environ, **variables(quick_python), "FUSIONSCOPE_HOME": str(tmp_path / "home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    for line in process.stdout:
        if b"http://" in line:
            break
    announcement = tmp_path / "home" / "server.json"
    assert announcement.is_file()
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == -signal.SIGTERM

    assert not announcement.exists()


def test_what_torch_sets_in_a_test_no_capture_inherits(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("OF_NOBODY", "before")
    with torch_variables.kept():
        os.environ["TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE"] = "1"
        os.environ["OMP_NUM_THREADS"] = "1"
        monkeypatch.setenv("OF_NOBODY", "after")
    assert "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE" not in os.environ
    assert (os.environ["OMP_NUM_THREADS"], os.environ["OF_NOBODY"]) == ("2", "after")
