"""Runs of one capture that come one by one stay apart, and a known run's files stay its own."""

import json
import shutil
import zipfile

import pytest

from profiler_core.errors import BadInput
from profiler_core.store import history
from profiler_core.store.history import database
from profiler_core.store.history.artifacts import _checked_run, artifacts
from tests.store.history.samples import redated_copy


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The team's artifacts, in a folder."""
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", (tmp_path / "kept").as_uri())
    return tmp_path / "kept"


def zipped(directory, target):
    target.write_bytes(b"".join(history.packed(directory)))
    return target


def on_another_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "other"))
    database.close_all()
    history.reconcile()


def run_id_at(directory):
    return json.loads((directory / "run.json").read_text())["run_id"]


@pytest.fixture
def variants(home, tmp_path, kept):
    """Two variants of one capture, imported one after the other, each in a zip of its own."""
    for variant in ("default", "reduce-overhead"):
        made = redated_copy(tmp_path / "elsewhere", "c1", variant=variant)
        history.receive(zipped(made, tmp_path / f"{variant}.zip"))
    return "c1.default", "c1.reduce-overhead"


def test_two_variants_imported_separately_are_two_artifacts(variants, tmp_path, monkeypatch):
    names = {history.run(run_id).artifact for run_id in variants}
    assert len(names) == 2
    on_another_machine(tmp_path, monkeypatch)
    for run_id in variants:
        assert run_id_at(history.directory_of(history.run(run_id))) == run_id


def test_deleting_one_leaves_the_other(variants, tmp_path, monkeypatch):
    first, second = variants
    history.delete_run(first)
    on_another_machine(tmp_path, monkeypatch)
    assert [run.run_id for run in history.runs()] == [second]
    assert run_id_at(history.directory_of(history.run(second))) == second


def repacked(archive, changed):
    """The same members, with run.json passed through `changed`."""
    with zipfile.ZipFile(archive) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    with zipfile.ZipFile(archive, "w") as target:
        for name, data in members.items():
            target.writestr(name, changed(data) if name.endswith("run.json") else data)


def test_a_changed_artifact_is_refused(variants, kept, tmp_path, monkeypatch):
    first, second = variants
    changed = kept / history.run(first).artifact
    on_another_machine(tmp_path, monkeypatch)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "third"))  # with nothing fetched
    database.close_all()
    good = changed.read_bytes()
    repacked(changed, lambda data: data.replace(b"H200", b"H100"))
    outcome = history.reconcile()
    assert outcome.recorded == (second,)
    ((name, sentence),) = outcome.problems
    assert name in str(changed)
    assert "was changed since it was stored" in sentence
    changed.write_bytes(good)
    assert history.reconcile().recorded == (first,)


@pytest.mark.parametrize("damage", ["its folder was deleted", "a power cut emptied a file"])
def test_what_is_kept_of_an_artifact_is_made_anew(variants, tmp_path, monkeypatch, damage):
    on_another_machine(tmp_path, monkeypatch)
    run_id = variants[0]
    unpacked = history.directory_of(history.run(run_id))
    if damage == "its folder was deleted":
        shutil.rmtree(unpacked.parent)
    else:
        (unpacked / "run.json").write_bytes(b"")
        _checked_run.cache_clear()  # in a process that starts later
    assert run_id_at(history.directory_of(history.run(run_id))) == run_id


def test_artifacts_of_earlier_versions_are_read_but_not_taken_for_another_run(
    home, tmp_path, kept, monkeypatch
):
    """They were named by folders: the first of two runs of one name was stored, the second not."""
    made = redated_copy(home, "c1", run_id="first")
    (kept / "c1").mkdir(parents=True)
    zipped(made, kept / "c1" / "default.zip")
    on_another_machine(tmp_path, monkeypatch)
    first = history.run("first")
    assert first.artifact == "c1/default.zip"
    assert run_id_at(history.directory_of(first)) == "first"
    with database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM run_files")  # which those versions had not
        connection.exec_driver_sql("UPDATE runs SET run_id = 'second'")
    with pytest.raises(BadInput, match="holds the run “first”, not “second”"):
        history.directory_of(history.run("second"))


def test_an_artifact_that_another_run_shares_stays(home, tmp_path, kept):
    """Written by an earlier version: two runs, one artifact."""
    for run_id in ("first", "second"):
        history.record(redated_copy(home, run_id, run_id=run_id))
    shared = history.run("first").artifact
    with database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE runs SET artifact = '{shared}'")
    history.delete_run("second")
    assert shared in artifacts().names()
    history.delete_run("first")
    assert shared not in artifacts().names()


@pytest.fixture
def baseline(home):
    history.record(redated_copy(home, "c1"))
    history.set_baseline("main", "c1.default")
    return history.run("c1.default")


def rounds_of(directory):
    return json.loads((directory / "run.json").read_text())["measurement"]["rounds"]


@pytest.mark.parametrize("as_folder", [False, True])
def test_an_import_that_contradicts_a_known_run_is_refused(baseline, home, tmp_path, as_folder):
    forged = redated_copy(tmp_path / "elsewhere", "c1", slower=0.1)
    path = forged if as_folder else zipped(forged, tmp_path / "forged.zip")
    before = rounds_of(history.directory_of(baseline))
    with pytest.raises(BadInput, match="its rounds were others") as raised:
        history.receive(path)
    assert "run_id of its own" in raised.value.remedy
    assert history.baseline("main") == baseline
    assert rounds_of(history.directory_of(history.baseline("main"))) == before
    assert not list((home / "uploads").glob("*/*/run.json"))
    assert history.reconcile() == history.Reconciled((), ())


def test_the_same_rounds_with_another_file_are_refused_too(baseline, tmp_path):
    forged = redated_copy(tmp_path / "elsewhere", "c1", environment={"torch": "2.0.0"})
    with pytest.raises(BadInput, match=r"run\.json was another"):
        history.receive(zipped(forged, tmp_path / "forged.zip"))
    added = redated_copy(tmp_path / "more", "c1")
    (added / "torch_logs.txt").write_text("V1121 12:00:00.000000 1 torch/x.py:1] [0/0] made up\n")
    with pytest.raises(BadInput, match=r"torch_logs\.txt was another, or not there"):
        history.receive(added)


def test_the_same_run_is_taken_again_and_again(baseline, home, tmp_path):
    archive = zipped(history.directory_of(baseline), tmp_path / "run.zip")
    for _ in range(2):
        (again,), _ = history.receive(archive, tags=("from a zip",))
        assert (again.key, again.rounds, again.tags) == (
            baseline.key,
            baseline.rounds,
            ("from a zip",),
        )
    assert not list((home / "uploads").glob("*/*/run.json"))


def test_deleted_files_come_back_by_an_import_of_the_same_run(home, tmp_path):
    run = history.record(redated_copy(home, "c1"))
    archive = zipped(history.directory_of(run), tmp_path / "run.zip")
    history.delete_files([run])
    assert not history.has_files(history.run("c1.default"))
    history.receive(archive)
    back = history.run("c1.default")
    assert back.files_deleted_at is None
    assert rounds_of(history.directory_of(back)) == rounds_of(
        redated_copy(tmp_path / "elsewhere", "c1")
    )


def test_a_folder_of_the_same_name_is_not_taken_for_the_run_in_it(baseline, tmp_path):
    other = redated_copy(tmp_path / "elsewhere", "c1", run_id="other", slower=2.0)
    with pytest.raises(BadInput, match="holds another run"):
        history.receive(other)
    assert [run.run_id for run in history.runs()] == ["c1.default"]
