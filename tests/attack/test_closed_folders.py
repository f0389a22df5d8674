"""Folders that belong to another user of the system: they keep nobody else's runs out."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from profiler_core.store import history
from profiler_core.store.history import database
from tests.store.history.samples import redated_copy


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FUSIONSCOPE_PERSON", "Ada")
    yield tmp_path / "home"
    database.close_all()


def refused(path: object) -> PermissionError:
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))  # type: ignore[call-overload]


def test_a_folder_that_may_not_be_read_keeps_no_run_out(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        redated_copy(home, f"c{number}")
    closed, scan = home / "runs" / "c1", os.scandir

    def scandir(path: Any = ".") -> Any:
        if not isinstance(path, int) and Path(path) == closed:
            raise refused(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    reconciled = history.reconcile()
    assert reconciled.recorded == ("c0.default", "c2.default")
    assert reconciled.problems == (("runs/c1", "Not recorded: this user may not read it."),)
    assert history.planned(history.Rules(keep_captures=1)).removals


def test_a_deletion_that_a_folder_does_not_follow_keeps_no_run_out(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was decided by another server of this history, which has a copy of that capture."""
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", f"sqlite:///{tmp_path / 'history.sqlite3'}")
    for server in (home, tmp_path / "other"):
        redated_copy(server, "c1")
        redated_copy(server, "c2")
    history.reconcile()
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "other"))
    for capture_id in ("c1", "c2"):
        history.delete_at([f"run/{capture_id}/default"], f"run/{capture_id}", capture_id)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    redated_copy(home, "c3")
    closed, rename = home / "runs" / "c1", Path.rename

    def renamed(path: Path, target: Path) -> Path:
        if path == closed:
            raise refused(path)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renamed)
    reconciled = history.reconcile()
    assert reconciled.recorded == ("c1.default", "c3.default")  # what cannot go, is not deleted
    ((title, problem),) = reconciled.problems
    assert (title, problem) == ("c1", f"{closed} could not be deleted: Permission denied.")
    assert [path.name for path in sorted((home / "runs").glob("c*"))] == ["c1", "c3"]
    assert [deletion.run_ids for deletion in history.trash_contents()] == [("c2.default",)]


def test_a_run_of_which_a_folder_may_not_be_read_is_not_recorded_by_halves(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = redated_copy(home, "c1")
    (run / "torch_trace").mkdir()
    (run / "torch_trace" / "0.log").write_text("a log")
    scan = os.scandir

    def scandir(path: Any = ".") -> Any:
        if not isinstance(path, int) and Path(path).name == "torch_trace":
            raise refused(path)
        return scan(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", scandir)
        reconciled = history.reconcile()
    assert reconciled.recorded == ()
    (problem,) = reconciled.problems
    assert problem == ("c1/default", f"{run / 'torch_trace'} may not be read by this user.")
    assert history.reconcile().recorded == ("c1.default",)
