"""A folder that is called as somebody else's capture, which whoever captures elsewhere may make.

The database knows runs by the place of their files on one machine. Deleting one's own folder of
that name took the other's row and artifact along, and let another server move his files.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.jobs.received import take_in
from profiler_core.owner_file import owner_of, write_owner
from profiler_core.store import history
from profiler_core.store.history import database, trash
from profiler_core.store.history.retention import delete_files
from tests.store.history.conftest import kind, new_database, postgres_url  # noqa: F401
from tests.store.history.samples import redated_copy

ADA, MALLORY = "oidc:https://id#ada", "oidc:https://id#mallory"
KEY = "run/c1/default"


@pytest.fixture
def hers(
    home: Path,
    kind: str,  # noqa: F811
    new_database: Callable[[str], str | None],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Path]:
    """Ada's recorded capture, and its artifact."""
    url = new_database(kind) or f"sqlite:///{tmp_path / 'history.sqlite'}"
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", url)
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", (home / "artifacts").as_uri())
    (home / "artifacts").mkdir()
    folder = redated_copy(home, "c1").parent
    write_owner(folder, ADA)
    history.reconcile()
    assert history.run("c1.default").person == ADA
    yield folder
    database.close_all()


def made_by_mallory(home: Path, *, run_id: str = "m.default", is_damaged: bool = False) -> Path:
    """A capture that came from elsewhere, taken in as a server does."""
    made = redated_copy(home / "made", "c1", run_id=run_id).parents[1]
    if is_damaged:
        (made / "c1" / "default" / "run.json").write_text("{")
    take_in(made, home / "runs", MALLORY)
    return home / "runs" / "c1"


def emptied_by_mallory() -> None:
    """Of what came, all that its owner may do on page Runs."""
    deletion = trash.delete_at([KEY], "run/c1", "c1", person=MALLORY)
    history.empty(deletion, person=MALLORY)


@pytest.mark.parametrize("run_id", ["m.default", "c1.default", "", "damaged"])
def test_numbers_that_retention_left_stay(home: Path, hers: Path, run_id: str) -> None:
    delete_files([history.run("c1.default")])
    for deletion in history.trash_contents():
        history.empty(deletion.deletion_id)
    assert not hers.exists()
    made_by_mallory(home, run_id=run_id, is_damaged=run_id == "damaged")
    history.reconcile()
    emptied_by_mallory()
    assert history.run("c1.default").person == ADA


@pytest.mark.parametrize("run_id", ["m.default", "c1.default", "", "damaged"])
def test_another_server_moves_no_files_of_others(
    home: Path, hers: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run_id: str
) -> None:
    before, other = history.run("c1.default"), tmp_path / "other"
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(other))
    made_by_mallory(other, run_id=run_id, is_damaged=run_id == "damaged")
    history.reconcile()
    emptied_by_mallory()
    assert history.run("c1.default") == before
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    history.reconcile()
    assert (hers / "default" / "run.json").is_file()
    assert list((home / "artifacts").glob("*/*.zip"))


@pytest.mark.parametrize("run_id", ["m.default", "c1.default", ""])
def test_what_lies_in_the_trash_elsewhere_takes_no_files_of_others(
    home: Path, hers: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run_id: str
) -> None:
    other = tmp_path / "other"
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(other))
    made_by_mallory(other, run_id=run_id)
    trash.delete_at([KEY], "run/c1", "c1", person=MALLORY)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    history.reconcile()
    assert (hers / "default" / "run.json").is_file()
    assert history.run("c1.default").person == ADA


def test_retention_elsewhere_takes_no_files_of_others(
    home: Path, hers: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(other))
    made_by_mallory(other)
    shutil.rmtree(other / "runs" / "c1")
    theirs = redated_copy(other, "c1", run_id="m.default").parent
    write_owner(theirs, MALLORY)
    delete_files([history.run("c1.default")])
    assert (theirs / "default" / "run.json").is_file()
    assert json.loads((theirs / "default" / "run.json").read_text())["run_id"] == "m.default"


def test_what_lies_in_the_trash_can_be_put_back(home: Path, hers: Path) -> None:
    deletion = trash.delete_at([KEY], "run/c1", "c1", person=ADA)
    assert not hers.exists()
    made_by_mallory(home)
    try:
        history.restore(deletion, person=ADA)
    except BadInput as refused:  # until it is deleted for good by itself
        pytest.fail(f"{refused}")
    assert json.loads((hers / "default" / "run.json").read_text())["run_id"] == "c1.default"


def test_what_another_put_there_is_not_shown_as_hers(
    home: Path, hers: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of a run that failed no hashes are kept which would tell."""
    failed = redated_copy(home, "c2", status="failed")
    write_owner(failed.parent, ADA)
    history.reconcile()
    other = tmp_path / "other"
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(other))
    made = redated_copy(other / "made", "c2", status="failed", name="forged").parents[1]
    take_in(made, other / "runs", MALLORY)
    shown = history.directory_of(history.run("c2.default"))
    assert json.loads((shown / "run.json").read_text())["name"] != "forged"


EXPERIMENT = "20260101-000000-try-x-00000001"


def test_nobody_takes_the_place_of_anothers_experiment(tmp_path: Path) -> None:
    """Who knew the id of one that waits, by its link say: its result was thrown away at its end."""
    made, out = tmp_path / "made", tmp_path / "runs"
    (made / f"_{EXPERIMENT}").mkdir(parents=True)
    (made / "c9").mkdir()
    assert take_in(made, out, MALLORY) == 1
    assert [folder.name for folder in out.iterdir()] == ["c9"]
    (made / f"_{EXPERIMENT}").mkdir(parents=True)
    assert take_in(made, out, ADA, EXPERIMENT) == 1
    assert owner_of(out / f"_{EXPERIMENT}") == ADA
