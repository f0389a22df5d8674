"""What was received is on the disk before its sender hears so, and before its source is deleted.

The calls of the system are recorded in their order: no test can cut the power.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from profiler_core import durable
from profiler_core.jobs import directory as jobs
from profiler_core.jobs import received
from profiler_core.store import aside, incoming, uploads
from profiler_core.store.history import copied_in, trash_files
from profiler_core.store.private_file import write_private

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "customcnn"

Call = tuple[str, Path]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Call]]:
    """`synced`, `named` (the new name) and `deleted`, with the path, as they come."""
    recorded: list[Call] = []
    fsync, replace, rename, rmtree = os.fsync, os.replace, os.rename, shutil.rmtree

    def synced(descriptor: int) -> None:
        recorded.append(("synced", Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def replaced(old: Path, new: Path) -> None:
        replace(old, new)
        recorded.append(("named", Path(new)))

    def renamed(old: Path, new: Path) -> None:
        rename(old, new)
        recorded.append(("named", Path(new)))

    def deleted(path: Path, *words: object, **options: object) -> None:
        recorded.append(("deleted", Path(path)))
        rmtree(path, *words, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(os, "rename", renamed)
    monkeypatch.setattr(shutil, "rmtree", deleted)
    yield recorded


def assert_kept(calls: list[Call], target: Path, aside_name: str | None = None) -> None:
    """Each file was synced under its former name, then it was named, then its folder was synced."""
    named = max(n for n, call in enumerate(calls) if call == ("named", target))
    before = [path for kind, path in calls[:named] if kind == "synced"]
    files = [path for path in target.rglob("*") if path.is_file()] or [target]
    for file in files:
        name = aside_name or file.name
        assert any(path.name == name or path.name.startswith(f".{name}.") for path in before), file
    assert ("synced", target.parent) in calls[named:]


def test_an_uploaded_file_is_kept_before_its_sender_is_told(calls: list[Call]) -> None:
    part = incoming.part_path("20260101-000000-00000001", 0)
    part.write_bytes(b"a trace")
    incoming.keep(part, "trace.json")
    assert_kept(calls, part.with_suffix(".data"), part.name)
    assert calls.index(("synced", part.with_suffix(".json"))) < len(calls) - 1
    assert ("synced", part.parents[1]) in calls  # the folder of this upload is new


def test_the_runs_of_an_upload_are_kept_before_what_was_sent_is_deleted(
    home: Path, calls: list[Call]
) -> None:
    upload_id = "20260101-000000-00000001"
    (trace,) = [path for path in (SAMPLE / "eager").iterdir() if path.name.startswith("trace.")]
    part = incoming.part_path(upload_id, 0)
    shutil.copy(trace, part)
    incoming.keep(part, trace.name)
    uploads.accept(upload_id, (0,), lambda *_: None, "Ada")
    target = home / "uploads" / upload_id
    assert_kept(calls, target)
    kept = len(calls) - calls[::-1].index(("synced", target.parent))
    assert kept <= calls.index(("deleted", part.parent))


def test_an_import_is_kept_before_it_is_said_to_be_there(
    home: Path, tmp_path: Path, calls: list[Call]
) -> None:
    run = tmp_path / "theirs" / "default"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    from profiler_core.model.run import RunRecord

    target = copied_in.stored_directory(
        run, RunRecord(schema_version=1, run_id="c.default", capture_id="c")
    )
    assert target.is_relative_to(home)
    assert_kept(calls, target)
    assert ("synced", target.parents[1]) in calls  # the folder of the capture is new


def test_what_another_machine_sent_is_kept_before_it_may_delete_it(
    tmp_path: Path, calls: list[Call]
) -> None:
    made = tmp_path / "work" / "made"
    (made / "capture" / "default").mkdir(parents=True)
    trace = made / "capture" / "default" / "trace.json"
    trace.write_text("{}")
    assert received.note_whole(made)
    mark = made.with_name("made.whole")
    order = [calls.index(("synced", path)) for path in (trace, trace.parent, made, mark)]
    assert order == sorted(order)
    assert ("synced", made.parent) in calls[order[-1] :]


def test_a_disk_that_refuses_to_write_through_keeps_it_on_the_other_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / "trace.json").write_text("{}")

    def broken(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    assert not received.note_whole(made)
    assert not received.is_whole(made)


def test_captures_are_kept_before_the_folder_that_they_came_in_is_deleted(
    tmp_path: Path, calls: list[Call]
) -> None:
    made, out = tmp_path / "made", tmp_path / "runs"
    (made / "capture").mkdir(parents=True)
    (made / "capture" / "run.json").write_text("{}")
    received.take_in(made, out, "Ada")
    assert_kept(calls, out / "capture")
    kept = len(calls) - calls[::-1].index(("synced", out))
    assert kept <= calls.index(("deleted", made))


@pytest.mark.parametrize("kind", ["artifact", "private"])
def test_a_file_is_there_over_a_power_cut_once_it_is_written(
    tmp_path: Path, calls: list[Call], kind: str
) -> None:
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    if kind == "artifact":
        with aside.whole_file(path) as file:
            file.write(b"content")
    else:
        write_private(path, b"content")
    named = calls.index(("named", path))
    assert [kind for kind, _ in calls[:named]] == ["synced"]
    assert ("synced", path.parent) in calls[named:]


def test_a_file_system_that_syncs_no_folder_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def of_files_alone(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().is_dir():
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", of_files_alone)
    (tmp_path / "aside").write_text("content")
    durable.bring(tmp_path / "aside", tmp_path / "target")
    assert (tmp_path / "target").read_text() == "content"


@pytest.mark.parametrize("state", ["finished", "failed", "cancelled", "interrupted"])
def test_the_end_of_a_job_is_kept_once_it_is_looked_after_no_more(
    tmp_path: Path, calls: list[Call], state: jobs.JobState
) -> None:
    directory = tmp_path / "jobs" / "j1"
    directory.mkdir(parents=True)
    jobs.mark_live(directory)
    jobs.write(directory, jobs.JobStatus(state=state))
    jobs.unmark_live(directory)
    named = calls.index(("named", directory / "status.json"))
    assert [kind for kind, _ in calls[:named]] == ["synced"]
    assert {("synced", directory), ("synced", tmp_path / "jobs" / "live")} <= set(calls[named:])


def test_what_goes_into_the_trash_and_comes_back_is_kept(home: Path, calls: list[Call]) -> None:
    capture = home / "runs" / "c1"
    shutil.copytree(SAMPLE / "eager", capture / "eager")
    (capture / "eager" / "run.json").write_text('{"run_id": "c1.eager", "schema_version": 1}')
    trash = home / "runs" / ".trash" / "d1"
    trash_files.set_aside("d1", ["run/c1"], ["c1.eager"], is_decided=False, counts_for_owner=False)
    assert (trash / "c1").is_dir() and not capture.exists()
    named = calls.index(("named", trash / "c1"))
    assert {("synced", trash), ("synced", capture.parent)} <= set(calls[named:])
    calls.clear()
    trash_files.put_back("d1")
    assert capture.is_dir()
    named = calls.index(("named", capture))
    assert {("synced", trash), ("synced", capture.parent)} <= set(calls[named:])
