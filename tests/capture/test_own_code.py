"""The user's `file.py:function`, checked without running it."""

from pathlib import Path

import pytest

from profiler_core.capture.devices import check_device
from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.own_code import check_function, check_own_code
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import BadInput, CaptureFailed


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.py"
    path.write_text(
        "from lib import borrowed\nmade = lambda: 1\ndef build(): ...\nraise SystemExit\n"
    )
    return path


def test_the_path_becomes_absolute(module: Path) -> None:
    assert check_own_code(" model.py:build ") == f"{module}:build"


@pytest.mark.parametrize("name", ["build", "made", "borrowed"])
def test_whatever_the_module_binds_may_be_called(module: Path, name: str) -> None:
    assert check_own_code(f"{module}:{name}").endswith(f":{name}")


def test_what_a_branch_may_define_is_left_to_the_child(module: Path) -> None:
    module.write_text("if True:\n    def late(): ...\n")
    assert check_own_code(f"{module}:late") == f"{module}:late"
    module.write_text("from lib import *\n")
    assert check_own_code(f"{module}:anything") == f"{module}:anything"


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("", "does not name a function", "path/to/file.py:function"),
        ("model.py", "does not name a function", "path/to/file.py:function"),
        ("model.py:not a name", "does not name a function", "path/to/file.py:function"),
        ("gone.py:build", "cannot be read: No such file", "Name a file"),
        ("plain.py:biuld", "plain.py has no function biuld.", "It has build."),
        ("plain.py:other", "plain.py has no function other.", "It has build."),
        (
            "broken.py:build",
            "/broken.py is not valid Python, line 2: '(' was never closed.",
            "Corr",
        ),
        ("binary.py:build", "is not valid Python", "Correct it."),
        ("folder.py:build", "cannot be read", "Name a file"),
    ],
)
def test_each_mistake_has_its_sentence(module: Path, text: str, problem: str, remedy: str) -> None:
    (module.parent / "plain.py").write_text("import torch\n\ndef build(): ...\n")
    (module.parent / "broken.py").write_text("def build():\n    return (\n")
    (module.parent / "binary.py").write_bytes(b"\x00\xff\x00")
    (module.parent / "folder.py").mkdir()
    with pytest.raises(BadInput) as caught:
        check_own_code(text)
    assert problem in caught.value.problem and remedy in caught.value.remedy


def test_a_file_for_a_newer_python_is_let_through(tmp_path):
    (tmp_path / "newer.py").write_text("def build(:\n")
    check_function(tmp_path / "newer.py", "build")
    check_function(tmp_path / "gone.py", "build")
    (tmp_path / "plain.py").write_text("def build(): ...\n")
    check_function(tmp_path / "plain.py", "build")
    with pytest.raises(BadInput, match=r"plain\.py has no function biuld"):
        check_function(tmp_path / "plain.py", "biuld")


@pytest.mark.parametrize(
    ("device", "n_gpus", "words"),
    [
        ("cuda", 0, "sees no CUDA devices"),
        ("cuda:1", 1, "sees 1 CUDA device."),
        ("cuda:7", 2, "sees 2 CUDA devices."),
    ],
)
def test_a_gpu_that_is_not_there_is_refused(device, n_gpus, words):
    spec = CaptureSpec("customcnn", device=device)
    gpus = tuple({"gpu_index": number} for number in range(n_gpus))
    interpreter = Interpreter("python", {"gpus": gpus})
    with pytest.raises(CaptureFailed, match=words):
        check_device(spec, interpreter)
    check_device(CaptureSpec("customcnn", device="cpu"), interpreter)
    check_device(CaptureSpec("customcnn"), interpreter)
