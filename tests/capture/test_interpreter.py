"""Whatever `--python` names: an interpreter, or one sentence that says why it is none.

The interpreters are small scripts; the environments are made here, without torch or with a module
of that name that does not import.
"""

import os
import sys
import time
import venv
from pathlib import Path

import pytest

from profiler_core.capture.interpreter import default_python, probe
from profiler_core.capture.python_path import activated, environment_of, python_at
from profiler_core.errors import CaptureFailed

from .conftest import processes_with

OS_ERROR = "OSError: libcudart.so.12: cannot open shared object file"


def script(path, *lines):
    """An executable shell script."""
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def with_torch(tmp_path, text):
    """An interpreter that finds this text as its module torch."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "torch.py").write_text(text)
    line = f'PYTHONPATH={tmp_path}/modules exec {sys.executable} "$@"'
    return script(tmp_path / "python", line)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A virtual environment with nothing in it."""
    folder = tmp_path_factory.mktemp("env") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    return folder


def problem_of(python, **patience):
    with pytest.raises(CaptureFailed) as caught:
        probe(str(python), **patience)
    assert caught.value.remedy
    assert "Traceback" not in str(caught.value)
    return caught.value.problem


@pytest.mark.parametrize("named", ["bin/python", "bin/python3", "."])
def test_an_environment_may_be_named_by_its_folder(empty, named):
    interpreter = probe(str(empty / named))
    assert Path(interpreter.executable).parent == empty / "bin"
    assert interpreter.facts["python_executable"].startswith(str(empty))
    assert interpreter.error == "torch is not installed"
    assert interpreter.remedy == "Install torch there, or pass --python PATH."


def test_a_home_folder_and_a_name_on_the_path_are_understood(empty, monkeypatch):
    monkeypatch.setenv("HOME", str(empty.parent))
    assert python_at("~/venv") == str(empty / "bin" / "python")
    monkeypatch.setenv("PATH", str(empty / "bin"))
    assert python_at("python3") == str(empty / "bin" / "python3")
    monkeypatch.chdir(empty.parent)
    assert python_at("venv") == str(empty / "bin" / "python")


@pytest.mark.parametrize("text", ["a" * 5000, "/tmp/" + "a" * 5000, "a/" * 5000, "~/" + "b" * 300])
def test_a_path_that_is_longer_than_the_systems_is_there_for_nobody(text):
    """The system's own "File name too long" went through."""
    with pytest.raises(CaptureFailed, match=r"here is no interpreter a|does not exist") as told:
        python_at(text)
    assert len(str(told.value)) < 600


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_name_means_the_path_whatever_lies_in_a_folder_of_somebody_else(
    empty, tmp_path, monkeypatch, kind
):
    """`--python python3` ran the python3 of the folder that it was typed in."""
    theirs = tmp_path / ("python3" if kind == "file" else "python3/bin/python")
    theirs.parent.mkdir(parents=True, exist_ok=True)
    theirs.write_text("#!/bin/sh\n")
    theirs.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(empty / "bin"))
    assert python_at("python3") == str(empty / "bin" / "python3")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert python_at("python3").startswith(str(tmp_path / "python3"))
    assert python_at("./python3").startswith(str(tmp_path / "python3"))


def test_a_missing_interpreter_is_named(tmp_path):
    assert problem_of(tmp_path / "python") == f"The interpreter {tmp_path}/python does not exist."
    assert problem_of("python9.9") == "There is no interpreter python9.9 on the PATH."
    assert problem_of(tmp_path) == f"The folder {tmp_path} holds no bin/python."


def test_an_environment_whose_python_was_removed_says_what_it_points_to(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to("/gone/python3")
    sentence = f"{tmp_path}/bin/python is a link to /gone/python3, which does not exist any more."
    assert problem_of(tmp_path) == problem_of(tmp_path / "bin" / "python") == sentence


@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_a_file_that_cannot_be_executed_says_so(tmp_path, mode):
    path = tmp_path / "notes.txt"
    path.write_text("no program")
    path.chmod(mode)
    why = "Exec format error" if mode == 0o755 else "Permission denied"
    assert problem_of(path) == f"{path} cannot be executed: {why}."


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["echo hello"], "it ended with status 0 and printed “hello”"),
        (["echo no such version >&2", "echo see the help >&2", "exit 127"],
         "it ended with status 127 and printed “no such version”"),
        (["exit 5"], "it ended with status 5 and printed nothing"),
        (["kill -9 $$"], "it was ended by SIGKILL and printed nothing"),
    ],
)  # fmt: skip
def test_a_program_that_is_no_interpreter_is_quoted(tmp_path, lines, said):
    path = script(tmp_path / "program", *lines)
    assert problem_of(path) == f"{path} is not a working Python interpreter: {said}."


@pytest.mark.parametrize("version", ["2 7 18", "3 7 16"])
def test_an_old_python_is_told_its_version(tmp_path, version):
    path = script(tmp_path / "python", f"echo FUSIONSCOPE-PYTHON {version}")
    sentence = (
        f"{path} is Python {version.replace(' ', '.')}, and captures need Python 3.8 or newer."
    )
    assert problem_of(path) == sentence


def test_an_interpreter_that_hangs_is_given_up_with_all_that_it_started(tmp_path, monkeypatch):
    monkeypatch.setenv("FS_TEST_HANGS", str(tmp_path))
    path = script(tmp_path / "python", "sleep 600 &", "sleep 600")
    started = time.monotonic()
    assert (
        problem_of(path, answers_within_s=0.3) == f"{path} took more than 0.3 s to say its version."
    )
    assert time.monotonic() - started < 30
    deadline = time.monotonic() + 20
    while processes_with(f"FS_TEST_HANGS={tmp_path}") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_with(f"FS_TEST_HANGS={tmp_path}") == []


def test_a_torch_that_hangs_is_given_up(tmp_path):
    path = with_torch(tmp_path, "import time; time.sleep(600)")
    assert problem_of(path, imports_within_s=1) == f"{path} took more than 1 s to import torch."


def test_a_question_that_nobody_waits_for_any_more_ends(tmp_path):
    path = script(tmp_path / "python", "sleep 600")

    def look():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        probe(str(path), look=look)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("raise OSError('libcudart.so.12: cannot open shared object file')",
         f"torch cannot be imported: {OS_ERROR}"),
        ("import absent",
         "torch cannot be imported: ModuleNotFoundError: No module named 'absent'"),
        ("__version__ = '1.13.1+cu117'", "torch 1.13.1+cu117 is older than 2.1"),
        ("", "its module torch is not PyTorch"),
    ],
)  # fmt: skip
def test_a_torch_that_cannot_be_used_says_why(tmp_path, text, error):
    interpreter = probe(str(with_torch(tmp_path, text)))
    assert interpreter.error == error
    assert interpreter.remedy.endswith("pass --python PATH.")
    assert interpreter.facts["python"] == sys.version.split()[0]


@pytest.mark.torch
@pytest.mark.parametrize("name", ["customcnn", "resnet18", "ResNet18", "fcn_resnet50"])
def test_a_workload_that_can_be_built_is_not_refused(name, quick_python):
    assert probe(str(quick_python), workload=name).refusal is None


def test_a_torch_that_kills_its_process_is_said(tmp_path):
    path = with_torch(tmp_path, "import os; os.kill(os.getpid(), 11)")
    assert (
        problem_of(path)
        == f"{path} was ended by SIGSEGV while it imported torch and printed nothing."
    )


def test_a_torch_that_exits_is_said(tmp_path):
    path = with_torch(tmp_path, "import sys; print('no licence'); sys.exit(7)")
    sentence = f"{path} ended with status 7 while it imported torch and printed “no licence”."
    assert problem_of(path) == sentence


def test_its_own_programs_come_first(empty, tmp_path):
    variables = activated({"PATH": "/usr/bin", "LANG": "C"}, str(empty / "bin" / "python"))
    assert variables == {
        "PATH": f"{empty}/bin{os.pathsep}/usr/bin", "LANG": "C", "VIRTUAL_ENV": str(empty),
    }  # fmt: skip
    (tmp_path / "conda-meta").mkdir()
    assert activated({}, str(tmp_path / "bin" / "python")) == {
        "PATH": f"{tmp_path}/bin", "CONDA_PREFIX": str(tmp_path),
    }  # fmt: skip


def test_an_interpreter_without_an_environment_leaves_the_path_alone():
    assert environment_of("/usr/bin/python3") is None
    assert activated({"PATH": "/usr/local/bin:/usr/bin"}, "/usr/bin/python3") == {
        "PATH": "/usr/local/bin:/usr/bin"
    }
    assert default_python() == sys.executable
