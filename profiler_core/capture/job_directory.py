"""What lies in a job's directory, for the page that submits and the supervisor that runs it.

<home>/jobs/<job_id>/spec.json        the request; written once
<home>/jobs/<job_id>/status.json      the state of the job; replaced atomically
<home>/jobs/<job_id>/alive            locked by the supervisor as long as it lives
<home>/jobs/<job_id>/heartbeat        touched by the supervisor every second
<home>/jobs/<job_id>/cancel           made by whoever wants the job to stop
<home>/jobs/<job_id>/progress.jsonl   appended by the capture, one object a line
<home>/jobs/<job_id>/log.txt          stdout and stderr of the capture
<home>/jobs/<job_id>/supervisor.log   errors of the supervisor itself, normally empty
"""

import fcntl
import os
import socket
import time
from pathlib import Path
from typing import Literal

import msgspec

from profiler_core.run_directory import LOST_AFTER_S

SPEC = "spec.json"
STATUS = "status.json"
ALIVE = "alive"
HEARTBEAT = "heartbeat"
CANCEL = "cancel"
PROGRESS = "progress.jsonl"
LOG = "log.txt"
SUPERVISOR_LOG = "supervisor.log"

JobState = Literal["queued", "running", "finished", "failed", "cancelled", "lost"]


class JobSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The request: the command, and how it is shown."""

    job_id: str
    command: tuple[str, ...]
    title: str
    device: str  # jobs of one device run one after another, in the order of submission
    submitted_at: float  # s since the epoch
    owner: str | None = None  # who signed in; None on a server without sign-in
    host: str = ""
    out: str | None = None  # the folder below which the command makes its capture's folder
    capture: dict[str, object] | None = None  # the form's answers, to show and to capture again


class JobStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state that the supervisor wrote last; `jobs.Job.state` also knows lost jobs."""

    state: JobState
    error: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    exit_status: int | None = None
    waiting_for: str | None = None  # while queued: the job ahead


def read_spec(directory: Path) -> JobSpec:
    """The job's spec. Raises OSError or msgspec.MsgspecError where there is none."""
    return msgspec.json.decode((directory / SPEC).read_bytes(), type=JobSpec)


def read_status(directory: Path) -> JobStatus:
    """The job's status. Raises OSError or msgspec.MsgspecError where there is none."""
    return msgspec.json.decode((directory / STATUS).read_bytes(), type=JobStatus)


def write(directory: Path, record: JobSpec | JobStatus) -> None:
    """Replace spec.json or status.json in one step, so that no reader sees half a file."""
    name = SPEC if isinstance(record, JobSpec) else STATUS
    partial = directory / f"{name}.{os.getpid()}.part"
    partial.write_bytes(msgspec.json.encode(record))
    partial.replace(directory / name)


def hold_alive(directory: Path) -> int:
    """Lock `alive`; the lock lives as long as any process holds the returned descriptor.

    The submitter takes it and hands the descriptor to the supervisor, so there is no moment
    between the two at which the job looks abandoned.
    """
    descriptor = os.open(directory / ALIVE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def is_supervised(directory: Path, spec: JobSpec) -> bool:
    """Whether a supervisor is running for this job.

    On this host the lock tells, which the kernel drops with the process (a process id could be
    used again). Of another host, with a shared home, only the heartbeat is known.
    """
    if spec.host and spec.host != socket.gethostname():
        last = heartbeat_at(directory)
        return last is not None and time.time() - last < LOST_AFTER_S
    try:
        descriptor = os.open(directory / ALIVE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two readers at once do not take each other for the supervisor.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def heartbeat_at(directory: Path) -> float | None:
    """The time of the supervisor's last heartbeat, s since the epoch; None without one."""
    try:
        return (directory / HEARTBEAT).stat().st_mtime
    except FileNotFoundError:
        return None
