"""A disk that is full while jobs wait and end: nothing becomes of them that did not happen."""

import errno
import os
import socket
from pathlib import Path

import pytest

from profiler_core.jobs import directory as files
from profiler_core.jobs import queue
from profiler_core.jobs.directory import JobSpec, JobStatus
from profiler_core.jobs.rights import Right
from profiler_core.jobs.supervisor import Supervisor


@pytest.fixture
def supervisor(tmp_path: Path) -> Supervisor:
    directory = tmp_path / "jobs" / "20260101-000000-000000"
    files.mark_live(directory)
    directory.mkdir()
    spec = JobSpec(job_id=directory.name, command=("true",), title="x", device="cpu",
                   submitted_at=0, host=socket.gethostname())  # fmt: skip
    files.write(directory, spec)
    files.write(directory, JobStatus(state="queued"))
    return Supervisor(directory)


def full_for(n_times: int, monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """The next so many bytes that are written find no room; one entry for each."""
    real, refused = Path.write_bytes, []

    def write_bytes(path: Path, data: bytes) -> int:
        if len(refused) < n_times:
            refused.append(None)
            path.touch()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    return refused


def test_an_end_is_written_once_there_is_room(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = full_for(3, monkeypatch)
    supervisor._write(JobStatus(state="finished", exit_status=0))
    assert len(refused) == 3
    assert files.read_status(supervisor._directory).state == "finished"
    assert not list(supervisor._directory.glob("*.part"))


def test_who_waits_goes_on_waiting(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Right(supervisor._directory, supervisor._spec, is_first_start=True)
    monkeypatch.setattr(queue, "waits_for", lambda *_: None)
    full_for(2, monkeypatch)
    waiting = supervisor._take_turn(right)
    assert waiting is not None and "No space left" in waiting.text
    supervisor._write(JobStatus(state="queued", waiting_for=waiting.text))
    assert files.read_status(supervisor._directory) == JobStatus(state="queued")
    assert supervisor._take_turn(right) is None
    assert files.read_status(supervisor._directory).state == "running"


def test_a_machine_that_goes_down_is_not_kept_up(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    full_for(1000, monkeypatch)
    supervisor._told_to_stop = True
    with pytest.raises(OSError, match="No space left"):
        supervisor._write(JobStatus(state="finished"))
