"""A job whose files a power cut emptied, or that another version writes, stops no other job."""

import os
import socket
import time
from pathlib import Path
from threading import Event, Thread

import pytest

from profiler_core.jobs import directory as files
from profiler_core.jobs import resuming
from profiler_core.jobs.directory import JobSpec, JobStatus


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The jobs that were started again."""
    names: list[str] = []

    def start(directory: Path, alive: int, _environment: object) -> None:
        os.close(alive)
        names.append(directory.name)

    monkeypatch.setattr(resuming, "start_supervisor", start)
    return names


def job(home: Path, number: int) -> Path:
    """A job that is to start again."""
    directory = home / "jobs" / f"20260101-000000-00000{number}"
    files.mark_live(directory)
    directory.mkdir()
    spec = JobSpec(job_id=directory.name, command=("true",), title="x", device="", submitted_at=0,
                   host=socket.gethostname(), kind="ingest")  # fmt: skip
    files.write(directory, JobStatus(state="queued"))
    files.write(directory, spec)
    return directory


@pytest.mark.parametrize("content", [b"", b'{"state": "unheard of"}', None])
def test_a_status_that_cannot_be_read_stops_no_other_job(
    home: Path, started: list[str], content: bytes | None
) -> None:
    damaged, other = job(home, 1), job(home, 2)
    if content is None:
        (damaged / files.STATUS).unlink()
    else:
        (damaged / files.STATUS).write_bytes(content)
    stopped = Event()
    looks_after = Thread(target=resuming.look_after_jobs, args=(stopped,))
    looks_after.start()
    deadline = time.monotonic() + 10
    while len(started) < 2 and time.monotonic() < deadline and looks_after.is_alive():
        time.sleep(0.02)
    stopped.set()
    looks_after.join()
    assert sorted(started) == [damaged.name, other.name]


def test_a_folder_that_cannot_be_written_stops_no_other_job(
    home: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged, other = job(home, 1), job(home, 2)
    write = files.write

    def refused(directory: Path, record: JobSpec | JobStatus) -> None:
        if directory == damaged:
            raise OSError("it cannot be written")
        write(directory, record)

    monkeypatch.setattr(files, "write", refused)
    assert resuming.resume_interrupted() == (other.name,)


def test_a_job_of_another_version_is_left_to_whoever_holds_it(home: Path) -> None:
    held, forgotten = job(home, 1), job(home, 2)
    alive = files.hold_alive(held)
    for directory in (held, forgotten):
        (directory / files.SPEC).write_bytes(b'{"kind": 7}')
        long_ago = time.time() - 3600
        os.utime(directory.parent / "live" / directory.name, (long_ago, long_ago))
    resuming.resume_interrupted()
    os.close(alive)
    assert held.is_dir()
    assert not forgotten.exists()
