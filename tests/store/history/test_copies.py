"""A push that is killed between storing and recording leaves no copy for ever, and loses no run."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from profiler_core.home import uploads_directory
from profiler_core.jobs import directory as files
from profiler_core.store import history, incoming, uploads
from profiler_core.store.history import receiving
from profiler_core.store.history.copies import sweep_copies
from profiler_core.store.history.database import writing
from profiler_core.store.history.files import directory_of
from profiler_core.store.history.tables import review_sides, reviews
from tests.store.history.samples import redated_copy

DAY_S = 24 * 3600.0


@pytest.fixture
def packed(home: Path, tmp_path: Path) -> Path:
    file = tmp_path / "c1.zip"
    file.write_bytes(b"".join(history.packed(redated_copy(tmp_path / "elsewhere", "c1"))))
    return file


def pushed(packed: Path) -> str:
    """The place of what was pushed and is recorded."""
    ((run,), _) = receiving.record_upload(receiving._copied_in(packed))
    return run.key


def killed(packed: Path, before: str = "record") -> str:
    """The place of what was pushed when its process was killed: before it is recorded, or after."""
    upload_id = receiving._copied_in(packed)
    child = os.fork()
    if not child:  # nothing of this process may run on, whatever happens
        try:
            setattr(receiving, before, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
            receiving.record_upload(upload_id)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    return f"upload/{upload_id}/1"


def at(key: str) -> Path:
    return uploads_directory() / key.partition("/")[2]


def later() -> float:
    return time.time() + DAY_S + 60


@pytest.mark.parametrize("kills", [1, 3])
def test_what_was_stored_and_not_recorded_goes_once_the_run_lies_elsewhere(
    packed: Path, kills: int
) -> None:
    copies = [killed(packed) for _ in range(kills)]
    own = pushed(packed)
    assert all(at(key).is_dir() for key in (own, *copies))
    assert sweep_copies() == ()  # its sender may be waiting for it
    history.reconcile()
    assert all(at(key).is_dir() for key in copies)
    assert sorted(sweep_copies(later())) == sorted(copies)
    assert [folder.name for folder in uploads_directory().glob("2*")] == [own.split("/")[1]]
    (run,) = history.runs()
    assert directory_of(run) == at(own)


def test_what_was_recorded_and_not_forgotten_goes_too(packed: Path) -> None:
    own = pushed(packed)
    copy = killed(packed, before="_forget_unused")
    assert sweep_copies(later()) == (copy,)
    assert directory_of(history.runs()[0]) == at(own)


def test_the_history_takes_what_was_only_stored(packed: Path) -> None:
    """Nobody pushed it again: it is the run, and is recorded when somebody looks."""
    only = killed(packed)
    assert sweep_copies(later()) == ()
    history.reconcile()
    (run,) = history.runs()
    assert run.key == only
    assert sweep_copies(later()) == ()
    assert at(only).is_dir()


@pytest.mark.parametrize("damage", ["gone", "changed", "other machine"])
def test_the_only_whole_files_of_a_run_stay(packed: Path, damage: str) -> None:
    copy = killed(packed)
    own = pushed(packed)
    if damage == "gone":
        shutil.rmtree(at(own))
    elif damage == "changed":
        (at(own) / "run.json").write_bytes(b"{}")
    else:
        at(own).parent.rename(at(own).parent.with_name("moved"))
    assert sweep_copies(later()) == ()
    assert at(copy).is_dir()


@pytest.mark.parametrize("name", ["counters.csv", "notes.txt"])
def test_a_copy_that_holds_more_stays(packed: Path, name: str) -> None:
    copy = killed(packed)
    pushed(packed)
    (at(copy) / name).write_text("measured later")
    assert sweep_copies(later()) == ()
    assert at(copy).is_dir()


def test_what_a_deletion_a_row_or_a_review_names_stays(packed: Path) -> None:
    copy = killed(packed)
    own = pushed(packed)
    values = {"review_id": "r1", "title": "x", "created_at": "2026-01-01T00:00:00Z"}
    with writing() as connection:
        connection.execute(reviews.insert().values(**values, changed_at=values["created_at"]))
        side = {"review_id": "r1", "position": 0, "key": copy}
        connection.execute(review_sides.insert().values(**side))
    assert sweep_copies(later()) == ()
    with writing() as connection:
        connection.execute(review_sides.delete())
    deletion = history.delete_run("c1.default")
    assert sweep_copies(later()) == ()  # it is the only one that does not lie in the trash
    history.restore(deletion)
    assert sweep_copies(later()) == (copy,)
    assert at(own).is_dir()


def test_what_a_live_job_or_its_sender_is_at_stays(packed: Path, home: Path) -> None:
    copy = killed(packed)
    pushed(packed)
    upload_id = copy.split("/")[1]
    job = home / "jobs" / "20261128-000000-abcdef"
    job.mkdir(parents=True)
    spec = files.JobSpec(
        job_id=job.name, command=("x", upload_id), title="", device="", submitted_at=1.0,
        kind="ingest", subject=upload_id,
    )  # fmt: skip
    files.mark_live(job)
    files.write(job, spec)
    files.write(job, files.JobStatus(state="queued"))
    assert sweep_copies(later()) == ()
    files.unmark_live(job)
    received = incoming.part_path(upload_id, 0)
    assert sweep_copies(later()) == ()
    incoming.forget(received.parent.name)
    assert sweep_copies(later()) == (copy,)


def test_what_somebody_uploaded_to_look_at_stays(packed: Path) -> None:
    """Its link was shared, and its owner deletes it."""
    pushed(packed)
    upload_id = receiving._copied_in(packed)
    uploads.accept(upload_id, (0,), lambda *_: None)
    assert sweep_copies(later()) == ()
    assert at(f"upload/{upload_id}/1").is_dir()


def test_bringing_the_history_up_to_date_sweeps(packed: Path, monkeypatch) -> None:
    copy = killed(packed)
    pushed(packed)
    os.utime(at(copy).parent / incoming.TO_RECORD, (time.time() - 2 * DAY_S,) * 2)
    history.reconcile()
    assert not at(copy).parent.exists()
    assert len(history.runs()) == 1
