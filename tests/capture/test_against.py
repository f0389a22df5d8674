"""`capture --against`: which version it means, and two versions of a file timed in turns."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from profiler_core.capture.against import Against, against_of
from profiler_core.capture.spec import CaptureSpec, parse_variants
from profiler_core.capture.versions import named_version, versions_of
from profiler_core.cli.main import main
from profiler_core.door import interpreters
from profiler_core.door.asker import Asker, Refused
from profiler_core.errors import BadInput
from tests.quick_python import QUICK_COMPILER

MODEL = """
import os
import time
import torch
from .layers import SECONDS

class Net(torch.nn.Module):
    def forward(self, x):
        time.sleep(float(os.environ.get("SECONDS_OF_THIS_ENVIRONMENT", SECONDS)))
        return x + 1

def build():
    return Net(), (torch.zeros(2),)
"""


def git(folder, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    ended = subprocess.run(
        ["git", "-C", str(folder), *identity, *words], check=True, capture_output=True, text=True
    )
    return ended.stdout.strip()


@pytest.fixture
def project(tmp_path):
    """A repository whose model sleeps 4 ms a step; a module beside it says so."""
    folder = tmp_path / "project"
    (folder / "net").mkdir(parents=True)
    (folder / "net" / "__init__.py").touch()
    (folder / "net" / "layers.py").write_text("SECONDS = 0.004\n")
    (folder / "net" / "model.py").write_text(MODEL)
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "first")
    git(folder, "branch", "release/1.0")
    return folder


def spec_of(project, against=None, **more):
    return CaptureSpec(f"{project / 'net' / 'model.py'}:build", against=against, **more)


def test_a_ref_is_unpacked_and_the_working_tree_left_as_it_is(project, tmp_path):
    (project / "net" / "layers.py").write_text("SECONDS = 0.1\n")
    before = git(project, "status", "--porcelain"), git(project, "worktree", "list")
    other, own = versions_of(spec_of(project, "release/1.0"), tmp_path)
    assert (other.label, own.label) == ("release/1.0", "working tree")
    file = Path(other.spec.workload.rpartition(":")[0])
    assert file.is_relative_to(tmp_path) and "release-1.0@" in str(file)
    assert (file.parent / "layers.py").read_text() == "SECONDS = 0.004\n"
    assert own.spec.workload == spec_of(project).workload
    assert other.code["git_commit"] == git(project, "rev-parse", "main")
    assert (other.code["git_dirty"], own.code["git_dirty"]) == (False, True)
    assert (git(project, "status", "--porcelain"), git(project, "worktree", "list")) == before
    assert "/" not in other.slug


def test_a_clean_tree_is_called_head(project, tmp_path):
    assert [v.label for v in versions_of(spec_of(project, "main"), tmp_path)] == ["main", "HEAD"]


def test_without_another_version_there_is_one(project, tmp_path):
    (only,) = versions_of(spec_of(project), tmp_path)
    assert (only.label, only.spec) == ("", spec_of(project))


def test_the_working_directory_moves_with_the_files(project, tmp_path):
    inside = spec_of(project, "main", directory=str(project))
    other, own = versions_of(inside, tmp_path)
    assert Path(other.spec.directory).is_relative_to(tmp_path) and own.spec.directory == str(
        project
    )
    shutil.rmtree(next(tmp_path.glob("main@*")))
    outside = replace(inside, directory=str(tmp_path))
    assert versions_of(outside, tmp_path)[0].spec.directory == str(tmp_path)


def test_another_copy_is_found_by_its_file_or_its_folder(project, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(project / "net", copy / "net")
    file = copy / "net" / "model.py"
    for text in (str(file), str(copy)):
        other, own = versions_of(spec_of(project, text), tmp_path)
        assert other.spec.workload == f"{file}:build"
        assert other.label != own.label
    with pytest.raises(BadInput, match="does not exist in the version"):
        versions_of(spec_of(project, str(tmp_path / "project" / ".git")), tmp_path)


def test_an_environment_is_told_from_a_copy(project, tmp_path):
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").touch()
    (venv / "bin" / "python").symlink_to(sys.executable)
    assert named_version(spec_of(project, str(venv))) == Against("python", str(venv / "bin/python"))
    other, own = versions_of(spec_of(project, f"python:{venv}"), tmp_path)
    assert (other.label, other.spec.python) == ("venv", str(venv / "bin/python"))
    assert own.spec.python is None and own.label
    # Of a built-in workload only the environment can be another.
    assert against_of(CaptureSpec("customcnn", against=str(venv))).kind == "python"
    with pytest.raises(BadInput, match="built in"):
        against_of(CaptureSpec("customcnn", against="git:main"))


@pytest.mark.parametrize("text", ["nothing-of-this-name", "-o/tmp/x", "git:-o/tmp/x", "git:gone"])
def test_what_is_no_version_says_so(project, tmp_path, text):
    with pytest.raises(BadInput) as error:
        versions_of(spec_of(project, text), tmp_path)
    assert error.value.remedy


def test_a_name_of_both_kinds_must_be_told(project, tmp_path, monkeypatch):
    monkeypatch.chdir(project)
    git(project, "branch", "net")
    with pytest.raises(BadInput, match="too"):
        named_version(spec_of(project, "net"))
    assert named_version(spec_of(project, "git:net")) == Against("git", "net")


def test_a_sweep_has_its_own_baselines(project):
    from profiler_core.capture.spec import parse_sweep

    with pytest.raises(BadInput):
        spec_of(project, "main", sweep=parse_sweep("batch-size=1,2"))


def test_the_door_checks_the_interpreter_and_says_the_kind(project, tmp_path, monkeypatch):
    agent = Asker(person="a", deeds=frozenset({"capture", "look"}), is_own_machine=False)
    with pytest.raises(Refused):
        interpreters.with_listed_interpreters(spec_of(project, f"python:{sys.executable}"), agent)
    with pytest.raises(Refused):
        interpreters.with_listed_interpreters(spec_of(project, str(Path(sys.executable))), agent)
    assert (
        interpreters.with_listed_interpreters(spec_of(project, "main"), agent).against == "git:main"
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


def captured(project, home, monkeypatch, python, *words):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    for name, value in QUICK_COMPILER.items():
        monkeypatch.setenv(name, value)
    out = project.parent / "runs"
    # A step sleeps: other programs hardly change how long it takes.
    options = ["--variants", "eager", "--against", "main", "--rounds", "12", "--round-steps", "4",
               "--round-seconds", "0", "--no-numerics", "--no-profile", "--no-memory",
               "--device", "cpu", "--python", str(python)]  # fmt: skip
    assert main(["capture", spec_of(project).workload, *options, "--out", str(out), *words]) == 0
    (folder,) = (path for path in out.iterdir() if path.is_dir())
    return folder


@pytest.mark.torch
@pytest.mark.timeout(600)
@pytest.mark.parametrize("planted", [True, False])
def test_two_versions_take_turns_and_a_planted_sleep_is_seen(
    project, home, monkeypatch, capsys, quick_python, planted
):
    if planted:
        (project / "net" / "layers.py").write_text("SECONDS = 0.024\n")
    folder = captured(project, home, monkeypatch, quick_python)
    capsys.readouterr()
    assert main(["compare", str(folder), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (candidate,) = answer["candidates"]
    own = "working tree" if planted else "HEAD"
    assert (answer["baseline"]["label"], candidate["label"]) == ("main, eager", f"{own}, eager")
    assert candidate["interleaved"] is True
    load = json.loads((Path(candidate["path"]) / "run.json").read_text())["measurement"]
    assert load["host_load"]["n_cpus"] >= 1 and load["host_load"]["others_cpus"] is not None
    status = main(["gate", str(folder), "--max-step-time", "+20%"])
    gate = capsys.readouterr().out
    assert "main, eager" in gate and f"{own}, eager" in gate
    if planted:
        assert candidate["verdict"]["kind"] == "slower"
        assert 0.03 < candidate["step_time"]["ratio"] < 0.4
        assert status == 1
    else:
        assert candidate["verdict"]["kind"] in ("no_difference", "cannot_be_told")
        assert status in (0, 3)
    assert not list(Path(answer["baseline"]["path"]).parent.glob("main@*"))


@pytest.mark.torch
@pytest.mark.timeout(600)
def test_two_environments_take_turns_round_by_round(
    project, home, monkeypatch, capsys, quick_python
):
    """The other one is a script that starts the same Python with a longer sleep."""
    older = project.parent / "older"
    (older / "bin").mkdir(parents=True)
    (older / "pyvenv.cfg").touch()
    python = older / "bin" / "python"
    python.write_text(f'#!/bin/sh\nSECONDS_OF_THIS_ENVIRONMENT=0.024 exec "{quick_python}" "$@"\n')
    python.chmod(0o755)
    folder = captured(project, home, monkeypatch, quick_python, "--against", str(older))
    capsys.readouterr()
    assert main(["compare", str(folder), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (candidate,) = answer["candidates"]
    assert answer["baseline"]["label"] == "older, eager"
    assert candidate["label"] != "older, eager" and candidate["label"].endswith(", eager")
    assert candidate["verdict"]["kind"] == "faster"
    assert 2.5 < candidate["step_time"]["ratio"] < 10
    started = sorted(
        (timed["started_ns"], side["label"])
        for side in (answer["baseline"], candidate)
        for timed in json.loads((Path(side["path"]) / "run.json").read_text())["measurement"][
            "rounds"
        ]
    )
    assert [label for _, label in started[::2]] == ["older, eager"] * 12
    assert main(["gate", str(folder), "--max-step-time", "+20%"]) == 0


def test_the_option_goes_through_the_words_of_the_command():
    spec = CaptureSpec("a/b.py:f", parse_variants("eager"), against="git:main")
    assert "--against=git:main" in spec.to_argv()
