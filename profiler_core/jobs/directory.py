"""What lies in a job's directory, for the page that submits and the supervisor that runs it.

<home>/jobs/live/<job_id>             made before the job, gone after its end: what a queue looks at
<home>/jobs/<job_id>/spec.json        the request; written once
<home>/jobs/<job_id>/status.json      the state of the job; replaced atomically
<home>/jobs/<job_id>/alive            locked by the supervisor as long as it lives
<home>/jobs/<job_id>/heartbeat        touched by the supervisor every second
<home>/jobs/<job_id>/cancel           made by whoever wants the job to stop; may say why
<home>/jobs/<job_id>/asks             a random word: may what waited start now? (`rights.py`)
<home>/jobs/<job_id>/confirmed        the same word, by a server that looked: yes
<home>/jobs/<job_id>/command          locked as long as the command lives; holds its process id
<home>/jobs/<job_id>/progress.jsonl   appended by a capture, one object a line
<home>/jobs/<job_id>/answer.jsonl     what a module of ours answers (`worker/protocol.py`)
<home>/jobs/<job_id>/log.txt          what the command printed beside; of a lot, both ends
<home>/jobs/<job_id>/scratch          the folder of another user in which its command works
<home>/jobs/<job_id>/supervisor.log   errors of the supervisor itself, normally empty
"""

import contextlib
import fcntl
import os
import secrets
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from profiler_core.durable import bring, sync, sync_names
from profiler_core.run_directory import LOST_AFTER_S
from profiler_core.typed import ready
from profiler_core.worker.environment import Need

SPEC = "spec.json"
STATUS = "status.json"
ALIVE = "alive"
HEARTBEAT = "heartbeat"
CANCEL = "cancel"
ASKS = "asks"
CONFIRMED = "confirmed"
COMMAND = "command"
ANSWER = "answer.jsonl"
PROGRESS = "progress.jsonl"
LOG = "log.txt"
SCRATCH = "scratch"
SUPERVISOR_LOG = "supervisor.log"

JobState = Literal["queued", "running", "finished", "failed", "cancelled", "interrupted"]
LIVE_STATES = frozenset({"queued", "running"})

# A command that dies three times would kill the machine a fourth time.
MOST_STARTS = 3
# Kinds of jobs that run a person's code on a device: those of one device run one after another.
MEASURING = frozenset({"capture", "try"})
_LIVE = "live"


class JobSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The request: the command, and how it is shown."""

    job_id: str
    command: tuple[str, ...]
    title: str
    device: str  # of a capture: those of one device run one after another, as submitted
    submitted_at: float  # s since the epoch
    owner: str | None = None  # who signed in; None on a server without sign-in
    token: str | None = None  # the id of the API token that asked for it
    host: str = ""
    out: str | None = None  # the folder below which the command makes its capture's folder
    capture: dict[str, object] | None = None  # the form's answers, to show and to capture again
    asked: tuple[dict[str, object], ...] = ()  # of another user's captures: what each may be of
    kind: str = "capture"
    subject: str = ""  # what it is about: an upload's id, a file and its version
    needs: tuple[Need, ...] = ()  # what the command must reach, see `worker/environment.py`
    memory_bytes: int = 0  # an estimate of its peak
    disk_bytes: int = 0  # an estimate of what it adds
    runner: str | None = None  # the user of the system that the command runs as; None: ours
    input_bytes: int = 0  # what it reads, packed as it is
    is_own_machine: bool = False  # its code is that of the person whose machine this is

    @property
    def answers(self) -> bool:
        """A module of ours, which answers as `worker/protocol.py` says."""
        return self.kind not in MEASURING

    @property
    def starts_again(self) -> bool:
        """After its command was killed: it leaves nothing half done, or goes on where it was."""
        return self.kind != "capture"


class JobStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state that was written last; `service.job` also sees that nobody looks after it."""

    state: JobState
    error: str | None = None
    remedy: str | None = None  # for that error
    started_at: float | None = None
    ended_at: float | None = None
    exit_status: int | None = None
    waiting_for: str | None = None  # while queued: why, as one sentence
    n_ahead: int = 0  # while queued: those of them that come first
    n_starts: int = 0  # of the command


def read_spec(directory: Path) -> JobSpec:
    """The job's spec. Raises OSError or msgspec.MsgspecError where there is none."""
    return msgspec.json.decode((directory / SPEC).read_bytes(), type=ready(JobSpec))


def read_status(directory: Path) -> JobStatus:
    """The job's status. Raises OSError or msgspec.MsgspecError where there is none."""
    return msgspec.json.decode((directory / STATUS).read_bytes(), type=ready(JobStatus))


def read_job(directory: Path) -> tuple[JobSpec, JobStatus] | None:
    """Both; None: it is being made, or half deleted."""
    try:
        return read_spec(directory), read_status(directory)
    except (OSError, msgspec.MsgspecError):
        return None


def write(directory: Path, record: JobSpec | JobStatus) -> None:
    """Replace spec.json or status.json in one step, so that no reader sees half a file."""
    name = SPEC if isinstance(record, JobSpec) else STATUS
    partial = directory / f"{name}.{os.getpid()}.part"
    try:
        partial.write_bytes(msgspec.json.encode(record))
        if isinstance(record, JobSpec):  # what somebody is told was submitted
            bring(partial, directory / name)
            return
        if record.state not in LIVE_STATES:  # else it changes from second to second
            sync(partial)
        partial.replace(directory / name)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def write_cancel(directory: Path, problem: str, remedy: str) -> None:
    """Ask the job to stop, and say why where its person did not ask for it."""
    partial = directory / f"{CANCEL}.{secrets.token_hex(4)}.part"
    try:
        partial.write_text(f"{problem}\n{remedy}" if problem else "", "utf-8")
        partial.replace(directory / CANCEL)
    except OSError:  # a full disk costs the reason
        partial.unlink(missing_ok=True)
        (directory / CANCEL).touch()


def cancelled(directory: Path, status: JobStatus) -> JobStatus:
    """The same as cancelled, with the reason where somebody gave one."""
    problem = remedy = ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        problem, _, remedy = (directory / CANCEL).read_text("utf-8").partition("\n")
    return msgspec.structs.replace(
        status, state="cancelled", error=problem or None, remedy=remedy or None
    )


def mark_live(directory: Path) -> None:
    """Say that this job is on its way, before anything of it is written."""
    marker = directory.parent / _LIVE / directory.name
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()


def unmark_live(directory: Path) -> None:
    """Its end is written, and kept over a power cut from now on."""
    marker = directory.parent / _LIVE / directory.name
    marker.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # of a disk that refuses, or of a job that never was
        sync_names(directory / STATUS)
        sync_names(marker)


def live_directories(root: Path) -> dict[Path, float]:
    """The folders of the jobs that were begun and have not ended, and when each was begun.

    Args:
        root: of all jobs. Times are seconds since the epoch.
    """
    try:
        with os.scandir(root / _LIVE) as markers:
            begun = {marker.name: marker for marker in markers}
    except FileNotFoundError:
        return {}
    times: dict[Path, float] = {}
    for job_id, marker in begun.items():
        with contextlib.suppress(FileNotFoundError):  # ended just now
            times[root / job_id] = marker.stat().st_mtime
    return times


def live_jobs(root: Path) -> list[tuple[Path, JobSpec, JobStatus]]:
    """Every job that is queued or running under a supervisor."""
    live = []
    for directory in live_directories(root):
        job = read_job(directory)
        if job is not None and job[1].state in LIVE_STATES and is_supervised(directory, job[0]):
            live.append((directory, *job))
    return live


@contextlib.contextmanager
def queue_lock(root: Path) -> Iterator[None]:
    """Nobody else submits a job or takes its turn meanwhile."""
    root.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(root / "queue.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def hold_alive(directory: Path) -> int:
    """Lock `alive`; the lock lives as long as any process holds the returned descriptor.

    The submitter takes it and hands the descriptor to the supervisor, so there is no moment
    between the two at which the job looks abandoned.

    Raises:
        BlockingIOError: somebody holds it.
    """
    descriptor = os.open(directory / ALIVE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
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
