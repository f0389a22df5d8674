"""The user's code finds its package, the modules beside it and its files, wherever it is started.

The project is tests/fixtures/own_project: a package with relative imports, one module called like
one of the standard library, and a data file named by a relative path.
"""

import queue
import sys
from pathlib import Path

import pytest

from profiler_core.capture import launcher
from profiler_core.capture.child import project
from profiler_core.capture.child.failures import CannotRunError, describe
from profiler_core.capture.spec import CaptureSpec, parse_variants

from .conftest import SHORT

OWN = Path(__file__).resolve().parents[1] / "fixtures" / "own_project"


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch, tmp_path):
    """Working directory, sys.path and modules go back to what they were."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("pkg", "plain", "beside", "above"):
            del sys.modules[name]


def written(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__slash__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(text)


def test_a_file_finds_the_module_beside_it_and_runs_in_its_folder(tmp_path):
    written(tmp_path / "code", plain="import beside\nfound = beside.word", beside="word = 'here'")
    workload = project.enter("code/plain.py:build", None)
    assert workload == f"{tmp_path}/code/plain.py:build"
    assert Path.cwd() == tmp_path / "code"
    module = project.load(workload.rpartition(":")[0])
    assert module.found == "here"
    assert project.load(workload.rpartition(":")[0]) is module


def test_a_file_of_a_package_is_imported_as_its_part(tmp_path):
    package = tmp_path / "code" / "pkg" / "inner"
    written(package, model="from ..sizes import width\nfrom . import queue")
    written(package, queue="")
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    written(package.parent, sizes="width = 7")
    path = project.enter(f"{package}/model.py:build", None).rpartition(":")[0]
    assert Path.cwd() == tmp_path / "code"
    module = project.load(path)
    assert (module.__name__, module.width) == ("pkg.inner.model", 7)
    assert sys.modules["queue"] is queue


def test_a_directory_that_is_given_is_where_it_runs(tmp_path):
    written(tmp_path / "code", plain="from above import word")
    written(tmp_path, above="word = 'found in the working directory'")
    path = project.enter("code/plain.py:build", str(tmp_path)).rpartition(":")[0]
    assert Path.cwd() == tmp_path
    assert project.load(path).word == "found in the working directory"


def test_a_directory_that_is_not_there_is_said(tmp_path):
    with pytest.raises(CannotRunError, match=r"/none cannot be entered: No such file"):
        project.enter("customcnn", str(tmp_path / "none"))


def test_a_built_in_workload_stays_where_it_was_started(tmp_path):
    assert project.enter("customcnn", None) == "customcnn"
    assert Path.cwd() == tmp_path


def test_two_packages_of_one_name_are_told_apart(tmp_path):
    for place in ("a", "b"):
        written(tmp_path / place / "pkg", model=f"place = {place!r}", __init__="")
    assert project.load(str(tmp_path / "a/pkg/model.py")).place == "a"
    with pytest.raises(CannotRunError, match=r"another package is called pkg, in .*a/pkg/model"):
        project.load(str(tmp_path / "b/pkg/model.py"))


def test_a_relative_file_that_is_missing_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        Path("sizes.json").read_text()
    said = describe(caught.value, "building the model", None, compiled=False)
    assert "sizes.json" in said["problem"]
    assert said["remedy"] == (
        f"It is looked for in {tmp_path}; pass --directory where that is wrong."
    )


@pytest.mark.torch
def test_a_capture_of_a_project_from_somewhere_else(tmp_path, monkeypatch, interpreter):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(launcher, "probe", lambda python, look: interpreter)
    found = {}
    for function in ("build", "elsewhere"):
        spec = CaptureSpec(
            f"{OWN}/net/model.py:{function}", variants=parse_variants("eager"), **SHORT
        )
        (found[function],) = launcher.run_capture(spec, tmp_path / function).runs
    assert (found["build"].status, found["build"].error) == ("finished", None)
    assert found["elsewhere"].status == "failed"
    assert f"It is looked for in {OWN}" in found["elsewhere"].error
