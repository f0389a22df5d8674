"""A job as its files say, without the processes of one."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from profiler_core.jobs import directory as files
from profiler_core.jobs.directory import JobSpec, JobState, JobStatus


@contextmanager
def a_job(
    home: Path,
    state: JobState,
    *,
    supervised: bool,
    kind: str = "read",
    number: int = 0,
    ran_s: float = 0.0,
    input_bytes: int = 0,
    owner: str | None = None,
    token: str | None = None,
    command: tuple[str, ...] = ("true",),
    runner: str | None = None,
) -> Iterator[Path]:
    """Its folder; until the end of the block the lock of its supervisor is held, if it has one."""
    directory = home / "jobs" / f"20260101-000000-{number:06x}"
    files.mark_live(directory)
    directory.mkdir()
    now = time.time()
    spec = JobSpec(
        job_id=directory.name, command=command, title="x", device="", submitted_at=now,
        host=socket.gethostname(), kind=kind, input_bytes=input_bytes, owner=owner,
        token=token, runner=runner,
    )  # fmt: skip
    files.write(directory, spec)
    files.write(directory, JobStatus(state=state, started_at=now - ran_s, ended_at=now))
    if state not in files.LIVE_STATES:
        files.unmark_live(directory)
    lock = files.hold_alive(directory) if supervised else None
    try:
        yield directory
    finally:
        if lock is not None:
            os.close(lock)
