"""A capture that is deleted while it is being recorded goes as a whole, and comes back as one."""

import shutil
import zipfile

import pytest

from profiler_core.errors import BadInput
from profiler_core.model.review import ReviewSide
from profiler_core.store import history, incoming, uploads
from profiler_core.store.deletion import delete
from profiler_core.store.history import recording, trash
from tests.everything import comparisons
from tests.store.history.samples import redated_copy


def only_group():
    (group,) = (g for g in comparisons() if g.origin != "sample")
    return group


def deleting(monkeypatch, module, name, *, before):
    """Let the capture be deleted once, before or after `module.name` is called."""
    function = getattr(module, name)

    def with_deletion(*arguments, **options):
        monkeypatch.setattr(module, name, function)
        if before:
            delete(only_group(), person="Ada")
        answer = function(*arguments, **options)
        if not before:
            delete(only_group(), person="Ada")
        return answer

    monkeypatch.setattr(module, name, with_deletion)


def recorded_while_deleted(source, monkeypatch, name, *, before):
    deleting(monkeypatch, recording, name, before=before)
    with pytest.raises(BadInput, match=f"{source} was deleted while|lies in the trash"):
        history.record(source)


@pytest.mark.parametrize(("name", "before"), [("metrics_of", True), ("metrics_of", False)])
def test_an_import_that_is_deleted_meanwhile_can_be_put_back(
    home, tmp_path, monkeypatch, name, before
):
    source = redated_copy(tmp_path / "elsewhere", "c1")
    recorded_while_deleted(source, monkeypatch, name, before=before)
    target = home / "runs" / "c1"
    assert not target.exists()
    assert history.runs() == ()
    assert not history.reconcile().problems
    (lying,) = history.trash_contents()
    history.restore(lying.deletion_id)
    assert (target / "default" / "run.json").read_bytes() == (source / "run.json").read_bytes()
    history.reconcile()
    assert [run.run_id for run in history.runs()] == ["c1.default"]
    assert not history.changed_files("c1.default", target / "default")


def test_a_deletion_that_waits_for_the_recording_takes_the_run_along(home, tmp_path, monkeypatch):
    """The deletion is decided before the row is there, and its files go after it."""
    source = redated_copy(tmp_path / "elsewhere", "c1")
    follow = trash._follow

    def after_the_recording(deletion_id):
        monkeypatch.setattr(trash, "_follow", follow)
        history.record(source)
        follow(deletion_id)

    redated_copy(home, "c1")
    monkeypatch.setattr(trash, "_follow", after_the_recording)
    delete(only_group(), person="Ada")
    assert history.runs() == ()
    (lying,) = history.trash_contents()
    assert lying.run_ids == ("c1.default",)
    assert history.record(source).run_id == "c1.default"  # puts it back
    assert history.trash_contents() == ()


class Killed(BaseException):
    """Ends a deed as kill -9 does: nothing after it runs."""


def killed(_deletion_id):
    raise Killed


def by_baseline():
    history.set_baseline("main", "c1.default")


def by_review():
    side = ReviewSide("run/c1/default", "c1.default", "default", "breaky")
    history.begin_review("Week 47", [side], [], person="Ada")


@pytest.fixture(params=[by_baseline, by_review])
def mark(request):
    return request.param


@pytest.fixture
def both(home):
    """The directories of a capture's runs, of which the first is recorded."""
    directories = [redated_copy(home, "c1", variant=name) for name in ("eager", "default")]
    history.record(directories[0])
    return directories


def both_are_back(directories):
    assert history.reconcile().problems == ()
    assert {run.run_id for run in history.runs()} == {"c1.eager", "c1.default"}
    assert history.trash_contents() == ()
    assert all((directory / "run.json").is_file() for directory in directories)
    assert [e.action for e in history.entries(subject="c1.eager")][:2] == ["restore", "delete"]
    assert "delete" not in {e.action for e in history.entries(subject="c1.default")}


def test_a_run_that_is_marked_before_the_files_go_calls_the_deletion_off(both, monkeypatch, mark):
    follow = trash._follow

    def marked_before(deletion_id):
        monkeypatch.setattr(trash, "_follow", follow)
        history.record(both[1])
        mark()
        follow(deletion_id)

    monkeypatch.setattr(trash, "_follow", marked_before)
    with pytest.raises(BadInput, match=r"c1\.default is"):
        delete(only_group(), person="Ada")
    both_are_back(both)


def test_a_run_that_is_marked_after_a_kill_calls_the_deletion_off(both, monkeypatch, mark):
    follow = trash._follow
    monkeypatch.setattr(trash, "_follow", killed)
    with pytest.raises(Killed):
        delete(only_group(), person="Ada")
    monkeypatch.setattr(trash, "_follow", follow)
    assert history.runs() == ()
    history.record(both[1])
    mark()
    ((_title, why),) = history.reconcile().problems
    assert "c1.default is" in why
    both_are_back(both)


def test_a_deletion_that_cannot_be_called_off_keeps_no_other_waiting(both, home, monkeypatch):
    follow, put_back = trash._follow, trash.trash_files.put_back
    second = redated_copy(home, "c2")
    history.record(second)
    monkeypatch.setattr(trash, "_follow", killed)
    for key in ("run/c1", "run/c2"):
        keys = [run.key for run in history.runs() if run.key.startswith(key)]
        with pytest.raises(Killed):
            history.delete_at(keys, key, key)
    monkeypatch.setattr(trash, "_follow", follow)
    history.record(both[1])
    by_baseline()

    def refused(_deletion_id):
        raise BadInput("The disk refuses.", remedy="Make room.")

    monkeypatch.setattr(trash.trash_files, "put_back", refused)
    ((title, _why),) = history.reconcile().problems
    assert (title, second.exists()) == ("run/c1", False)
    monkeypatch.setattr(trash.trash_files, "put_back", put_back)
    assert history.reconcile().problems == ()
    assert {run.run_id for run in history.runs()} == {"c1.eager", "c1.default"}


def test_a_tag_keeps_no_run_out_of_its_folders_deletion(home, monkeypatch):
    """As it keeps none out of a deletion by a person."""
    directory = redated_copy(home, "c1")
    follow = trash._follow
    monkeypatch.setattr(trash, "_follow", killed)
    with pytest.raises(Killed):
        delete(only_group(), person="Ada")
    monkeypatch.setattr(trash, "_follow", follow)
    history.record(directory, tags=("weekly",))
    assert history.reconcile().problems == ()
    assert history.runs() == ()
    (lying,) = history.trash_contents()
    assert lying.run_ids == ("c1.default",)


def test_what_is_marked_before_its_recording_ends_comes_back(home, monkeypatch, mark):
    """Its files went before its row was there; what somebody needs by then lies in no trash."""
    directory = redated_copy(home, "c1")
    go_along = recording.go_along

    def marked_before(run_id, key):
        mark()
        go_along(run_id, key)

    monkeypatch.setattr(recording, "go_along", marked_before)
    deleting(monkeypatch, recording, "_write", before=True)
    assert history.record(directory).run_id == "c1.default"
    assert [run.run_id for run in history.runs()] == ["c1.default"]
    assert history.trash_contents() == ()
    assert (directory / "run.json").is_file()


@pytest.mark.parametrize("recorded", [True, False])
def test_a_copy_that_was_imported_once_more_is_not_in_the_way(
    home, tmp_path, monkeypatch, recorded
):
    source = redated_copy(tmp_path / "elsewhere", "c1", whole=True)
    recorded_while_deleted(source, monkeypatch, "metrics_of", before=True)
    (lying,) = history.trash_contents()
    target = home / "runs" / "c1" / "default"
    if recorded:
        history.record(source)
    else:
        shutil.copytree(source, target)
    before = target.stat().st_ino
    history.restore(lying.deletion_id)
    assert history.trash_contents() == ()
    assert not list((home / "runs" / ".trash").iterdir())
    assert target.stat().st_ino == before
    history.reconcile()
    assert [run.run_id for run in history.runs()] == ["c1.default"]


def test_an_upload_that_was_deleted_is_not_read_once_more(home, tmp_path, monkeypatch):
    """Its job was killed at its very end, and starts again from the received file."""
    upload_id = incoming.new_upload_id()
    source = redated_copy(tmp_path / "elsewhere", "c1")
    partial = incoming.part_path(upload_id, 0)
    with zipfile.ZipFile(partial, "w") as archive:
        archive.write(source / "run.json", "run.json")
    incoming.keep(partial, "run.zip")
    monkeypatch.setattr(incoming, "forget", lambda _upload_id: None)  # killed before that
    uploads.accept(upload_id, (0,), lambda *_: None, "Ada")
    monkeypatch.undo()
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    deletion_id = delete(only_group(), person="Ada")
    with pytest.raises(BadInput, match="was deleted"):
        uploads.accept(upload_id, (0,), lambda *_: None, "Ada")
    assert incoming.kept(upload_id) == ()
    history.restore(deletion_id)
    assert (home / "uploads" / upload_id / "1" / "run.json").is_file()


def test_a_run_with_a_linked_file_is_stored_by_what_was_copied(home, tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", f"file://{tmp_path}/artifacts")
    source = redated_copy(tmp_path / "elsewhere", "c1", whole=True)
    trace = next(source.glob("trace*"))
    trace.rename(source / f"kept-{trace.name}")
    trace.symlink_to(f"kept-{trace.name}")
    recorded = history.record(source)
    assert not history.changed_files("c1.default", home / "runs" / "c1" / "default")
    shutil.rmtree(home / "runs" / "c1")
    assert (history.directory_of(recorded) / trace.name).read_bytes() == trace.read_bytes()
