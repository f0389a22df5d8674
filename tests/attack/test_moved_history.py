"""The history's file, or the database behind it, is another one than a moment ago."""

import shutil
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.store import history
from profiler_core.store.history import database
from tests.store.history.samples import redated_copy


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FUSIONSCOPE_PERSON", "Ada")
    for number in range(3):
        redated_copy(tmp_path / "home", f"c{number}")
    history.reconcile()
    return tmp_path / "home"


def copy_of_history(home: Path) -> Path:
    """As a tool of the database copies it."""
    with database.writing() as connection:
        connection.exec_driver_sql("SELECT 1")
    database.close_all()  # the last one that closes writes all into the one file
    return Path(shutil.copy(home / "history.sqlite3", home.parent / "copy.sqlite3"))


def test_nothing_is_written_beside_a_home_that_was_moved(home: Path) -> None:
    moved = home.rename(home.with_name("moved"))
    with pytest.raises(BadInput, match="was moved or deleted"):
        history.tag("c0.default", "weekly")
    assert not (home / "history.sqlite3").exists()
    moved.rename(home)
    history.tag("c0.default", "weekly")
    assert history.run("c0.default").tags == ("weekly",)


def test_deletions_that_a_restored_database_does_not_know_are_put_back(home: Path) -> None:
    earlier = copy_of_history(home)
    history.delete_run("c0.default")
    history.delete_at(["run/c1/default"], "run/c1", "c1")
    assert not (home / "runs" / "c0").exists()
    database.close_all()
    earlier.replace(home / "history.sqlite3")
    assert history.reconcile() == history.Reconciled((), ())
    for run_id in ("c0.default", "c1.default", "c2.default"):
        assert history.directory_of(history.run(run_id)).is_dir()
    assert not list((home / "runs" / ".trash").iterdir())


def test_what_another_history_deleted_stays_in_its_trash(home: Path) -> None:
    history.delete_run("c0.default")
    database.close_all()
    (home / "history.sqlite3").unlink()
    assert len(history.reconcile().recorded) == 2
    assert not (home / "runs" / "c0").exists()
    assert len(list((home / "runs" / ".trash").iterdir())) == 1


def test_what_is_said_after_another_home_took_its_place_is_kept_there(home: Path) -> None:
    database.close_all()
    other = Path(shutil.copytree(home, home.with_name("other")))
    history.tag("c0.default", "before")  # its connection stays open
    home.rename(home.with_name("moved"))
    other.rename(home)
    history.tag("c1.default", "after")
    history.delete_run("c2.default")
    database.close_all()  # as a process that starts later sees it
    assert history.run("c0.default").tags == ()
    assert history.run("c1.default").tags == ("after",)
    assert [deletion.run_ids for deletion in history.trash_contents()] == [("c2.default",)]
