"""Each artifact belongs to a recorded run: none is lost that one needs, none stays without."""

import contextlib
import errno
import os
import shutil
import threading
import zipfile
from pathlib import Path

import pytest

from profiler_core.errors import FusionscopeError
from profiler_core.store import history
from profiler_core.store.history import HistoryUnavailable, database, packing, recording
from profiler_core.store.history.artifacts import Artifacts, artifacts
from tests.store.history.samples import redated_copy

_WAIT_S = 1.0  # that the other has to be faster in; it is held up where all is well


@pytest.fixture
def kept(home, tmp_path, monkeypatch):
    """The team's artifacts, in a folder."""
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", (tmp_path / "kept").as_uri())
    return tmp_path / "kept"


def zipped(directory, target):
    target.write_bytes(b"".join(history.packed(directory)))
    return target


def at_the_moment_of(name, monkeypatch, deed):
    """Begin a deed in another thread when an artifact meets `name`; returns a function that waits.

    The deletion goes on once the deed has ended, or has been held up for a while.
    """
    function = getattr(Artifacts, name)
    outcomes: list[object] = []

    def work() -> None:
        try:
            outcomes.append(deed())
        except FusionscopeError as error:
            outcomes.append(error)

    other = threading.Thread(target=work)

    def meanwhile(self, artifact):
        if not other.ident:
            other.start()
            other.join(_WAIT_S)
        return function(self, artifact)

    monkeypatch.setattr(Artifacts, name, meanwhile)

    def ended():
        other.join()
        (outcome,) = outcomes
        return outcome

    return ended


def test_what_is_pushed_while_the_trash_is_emptied_keeps_its_artifact(kept, tmp_path, monkeypatch):
    recorded = history.record(redated_copy(tmp_path / "elsewhere", "c1"))
    archive = zipped(history.directory_of(recorded), tmp_path / "run.zip")
    history.delete_files([recorded])
    pushed = at_the_moment_of("delete", monkeypatch, lambda: history.receive(archive))
    (deletion,) = history.trash_contents()
    history.empty(deletion.deletion_id)
    assert not isinstance(pushed(), Exception)
    again = history.run("c1.default")
    assert again.files_deleted_at is None
    assert again.artifact in artifacts().names()


@pytest.mark.parametrize("run_id", ["a\nb", "x" * 301, "run/somebody/default"])
def test_a_push_without_a_usable_id_leaves_no_artifact(kept, tmp_path, run_id):
    made = redated_copy(tmp_path / "elsewhere", "c1", run_id=run_id)
    with pytest.raises(FusionscopeError, match="no usable run_id"):
        history.receive(zipped(made, tmp_path / "run.zip"))
    assert artifacts().names() == ()
    assert not [path for path in kept.rglob("*") if path.is_file()]


def test_what_is_refused_at_last_leaves_no_artifact(kept, tmp_path, monkeypatch):
    """Another run took the id while this one's files were kept."""
    first = zipped(redated_copy(tmp_path / "first", "c1"), tmp_path / "first.zip")
    second = zipped(redated_copy(tmp_path / "second", "c1", slower=2.0), tmp_path / "second.zip")
    put = Artifacts.put

    def meanwhile(self, *arguments):
        monkeypatch.setattr(Artifacts, "put", put)
        history.receive(second)
        return put(self, *arguments)

    monkeypatch.setattr(Artifacts, "put", meanwhile)
    with pytest.raises(FusionscopeError, match="its rounds were others"):
        history.receive(first)
    assert artifacts().names() == (history.run("c1.default").artifact,)


def test_files_that_change_while_they_are_kept_become_no_artifact(kept, tmp_path, monkeypatch):
    """It would have a hash that is not theirs, so no other machine could open it."""
    made = redated_copy(tmp_path / "elsewhere", "c1", whole=True)
    function = packing.packed_files

    def changing(directory, *arguments):
        paths = function(directory, *arguments)
        if changing.is_due:
            (directory / "torch_logs.txt").write_text("changed")
        return paths

    changing.is_due = False
    put = Artifacts.put

    def late(self, *arguments):
        changing.is_due = True
        return put(self, *arguments)

    monkeypatch.setattr(packing, "packed_files", changing)
    monkeypatch.setattr(Artifacts, "put", late)
    with pytest.raises(FusionscopeError, match="was changed while it was kept"):
        history.record(made)
    assert artifacts().names() == ()


def test_an_artifact_is_whole_or_not_there_when_the_disk_is_full(kept, tmp_path, monkeypatch):
    """Also where /tmp is another disk than the artifacts', from which nothing can be renamed."""
    made = redated_copy(tmp_path / "elsewhere", "c1", whole=True)
    rename, replace, copyfile = os.rename, os.replace, shutil.copyfile

    def from_one_disk(rename):
        def renamed(source, target, *more, **words):
            if str(target).startswith(str(kept)) and not str(source).startswith(str(kept)):
                raise OSError(errno.EXDEV, "Invalid cross-device link")
            return rename(source, target, *more, **words)

        return renamed

    def half(source, target, **words):
        if not str(target).startswith(str(kept)):
            return copyfile(source, target, **words)
        Path(target).write_bytes(Path(source).read_bytes()[:1000])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", from_one_disk(rename))
        patch.setattr(os, "replace", from_one_disk(replace))
        patch.setattr(shutil, "copyfile", half)
        with contextlib.suppress(FusionscopeError):
            history.record(made)
    for name in artifacts().names():
        assert zipfile.is_zipfile(kept / name)
    recorded = history.record(made)
    database.close_all()
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "other"))
    assert (artifacts().fetch(recorded.artifact) / "run.json").is_file()


def test_a_push_with_an_endless_workload_is_recorded(kept, tmp_path):
    """An index of PostgreSQL takes 2 700 bytes; what was pushed stayed as an artifact of none."""
    words = "".join(chr(0x20000 + 37 * n) for n in range(900))
    made = redated_copy(tmp_path / "elsewhere", "c1", workload=words, name=words)
    ((run,), _) = history.receive(zipped(made, tmp_path / "run.zip"))
    assert run.workload == words[:600]
    assert artifacts().names() == (run.artifact,)


def test_what_is_pushed_while_the_database_is_full_is_recorded_later(kept, tmp_path, monkeypatch):
    """And as its sender's: of the artifact alone nobody could tell whose it is."""
    archive = zipped(redated_copy(tmp_path / "elsewhere", "c1"), tmp_path / "run.zip")

    def full(*_, **__):
        raise HistoryUnavailable("The disk is full.", remedy="Make room.")

    with monkeypatch.context() as patch:
        patch.setattr(recording, "note", full)
        with pytest.raises(HistoryUnavailable):
            history.receive(archive, person="ada")
    assert history.n_runs() == 0
    assert history.reconcile().recorded == ("c1.default",)
    assert history.run("c1.default").person == "ada"
    history.receive(archive, person="ada")
    assert history.n_runs() == 1
