"""Captures that run on their own: any browser session, and any server after it, sees them.

A job is a directory (see `job_directory`) with a supervisor process of its own. The web server
only starts that process and reads files; it may stop, and the capture goes on.
"""

import os
import re
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from profiler_core import home
from profiler_core.capture import job_directory as files
from profiler_core.capture.job_directory import JobSpec, JobState, JobStatus
from profiler_core.capture.job_progress import CaptureProgress, read_progress
from profiler_core.capture.job_result import result_of
from profiler_core.errors import BadInput, CaptureFailed
from profiler_core.worker.environment import child_environment
from profiler_core.worker.process import DidNotRun, run_detached

LIVE_STATES = frozenset({"queued", "running"})

_JOB_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
# CSI and OSC sequences, and what else a terminal would act upon (ECMA-48).
_TERMINAL_CODES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00-\x08\x0b-\x1f\x7f]"
)
_TAIL_BYTES = 64_000
_START_WITHIN_S = 30.0


@dataclass(frozen=True)
class Job:
    """A job as it stands now."""

    job_id: str
    directory: Path
    spec: JobSpec
    state: JobState
    error: str | None
    started_at: float | None
    ended_at: float | None
    heartbeat_at: float | None
    cancel_requested: bool
    waiting_for: str | None  # while queued: what it waits for, as one sentence
    progress: CaptureProgress

    @property
    def is_live(self) -> bool:
        """Whether the job is queued or running."""
        return self.state in LIVE_STATES

    @property
    def result(self) -> Path | None:
        """The capture's folder, once there is one."""
        return result_of(self.directory, self.spec)


def submit(
    command: Sequence[str],
    *,
    title: str,
    device: str,
    environment: Mapping[str, str] | None = None,
    owner: str | None = None,
    out: Path | None = None,
    capture: Mapping[str, object] | None = None,
) -> str:
    """Start `command` under a supervisor of its own, and return the job's id at once.

    Args:
        command: argv; `{progress}` in an argument becomes the path of the progress file.
        title: what people see in the list.
        device: jobs of one device run in the order of submission, one at a time.
        environment: all of the variables that the command gets; None: those without secrets.
        owner: who asked, where people sign in.
        out: the folder below which the command makes its capture's folder.
        capture: the answers of the form, kept for "capture again".

    Raises:
        CaptureFailed: the supervisor does not start.
    """
    job_id = _new_job_id()
    directory = _directory(job_id)
    directory.mkdir(parents=True)
    progress = str(directory / files.PROGRESS)
    spec = JobSpec(
        job_id=job_id,
        command=tuple(argument.replace("{progress}", progress) for argument in command),
        title=title,
        device=device,
        submitted_at=time.time(),
        owner=owner,
        host=socket.gethostname(),
        out=str(out) if out else None,
        capture=dict(capture) if capture is not None else None,
    )
    files.write(directory, JobStatus(state="queued"))
    files.write(directory, spec)
    _start_supervisor(directory, child_environment() if environment is None else environment)
    return job_id


def _new_job_id() -> str:
    """A fresh id: sorts by time of submission, safe in a URL and as a folder's name."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


def job(job_id: str) -> Job:
    """The job as it stands now.

    Raises:
        BadInput: no such job.
    """
    directory = _directory(job_id)
    try:
        spec, status = files.read_spec(directory), files.read_status(directory)
    except (OSError, msgspec.MsgspecError) as error:
        raise BadInput(
            f"There is no capture job {job_id} on this machine.",
            remedy="Choose one from the list of captures.",
        ) from error
    if status.state in LIVE_STATES and not files.is_supervised(directory, spec):
        # It may have ended between the two reads: only a second look can tell.
        status = files.read_status(directory)
        if status.state in LIVE_STATES:
            status = msgspec.structs.replace(status, state="lost", error=_why_lost(directory))
    progress = read_progress(directory / files.PROGRESS)
    state, waiting_for = status.state, status.waiting_for
    if state == "running" and progress.latest and progress.latest.phase == "queued":
        # The launcher waits for the device: somebody captures from a shell, say.
        state, waiting_for = "queued", progress.latest.text
    return Job(
        job_id=job_id,
        directory=directory,
        spec=spec,
        state=state,
        error=status.error,
        started_at=status.started_at,
        ended_at=status.ended_at,
        heartbeat_at=files.heartbeat_at(directory),
        cancel_requested=(directory / files.CANCEL).exists(),
        waiting_for=waiting_for,
        progress=progress,
    )


def jobs(limit: int = 50) -> tuple[Job, ...]:
    """The newest jobs, newest first; a folder that is no job is passed over."""
    root = home.jobs_directory()
    if not root.is_dir():
        return ()
    ids = sorted(
        (path.name for path in root.iterdir() if _JOB_ID.fullmatch(path.name)), reverse=True
    )
    newest: list[Job] = []
    for job_id in ids:
        if len(newest) == limit:
            break
        try:
            newest.append(job(job_id))
        except BadInput:  # being made just now, or half deleted
            continue
    return tuple(sorted(newest, key=lambda job: job.spec.submitted_at, reverse=True))


def cancel(job_id: str) -> None:
    """Ask the job to stop. It answers within seconds; asking twice does no harm.

    Raises:
        BadInput: no such job.
    """
    directory = _directory(job_id)
    if not directory.is_dir():
        raise BadInput(f"There is no capture job {job_id}.", remedy="Choose one from the list.")
    (directory / files.CANCEL).touch()


def log_tail(job_id: str, n_lines: int = 15) -> str:
    """The last lines that the capture printed, without terminal codes; "" before the first."""
    try:
        with (_directory(job_id) / files.LOG).open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    # A progress bar rewrites its line with carriage returns: what a terminal shows is the last.
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
    shown = [_TERMINAL_CODES.sub("", line).rstrip() for line in lines]
    while shown and not shown[-1]:
        shown.pop()
    return "\n".join(shown[-n_lines:])


def _directory(job_id: str) -> Path:
    """Where the job lies. An id comes from a URL: anything but an id is refused."""
    if not _JOB_ID.fullmatch(job_id):
        raise BadInput(
            f"{job_id[:60]!r} is not a capture job.", remedy="Choose one from the list of captures."
        )
    return home.jobs_directory() / job_id


def _why_lost(directory: Path) -> str:
    last = files.heartbeat_at(directory)
    sign = (
        f"Its last sign of life came at {time.strftime('%H:%M:%S on %d %B', time.localtime(last))}."
        if last
        else "It never gave a sign of life."
    )
    return (
        "The process that supervised this capture is gone: it was killed, or the machine "
        f"restarted. {sign}{_last_words(directory)}"
    )


def _last_words(directory: Path) -> str:
    """What the supervisor itself printed last, as a further sentence; normally nothing."""
    log = directory / files.SUPERVISOR_LOG
    if not log.is_file():
        return ""
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    return f" It last said: {lines[-1]}" if lines else ""


def _start_supervisor(directory: Path, environment: Mapping[str, str]) -> None:
    alive = files.hold_alive(directory)
    try:
        with (directory / files.SUPERVISOR_LOG).open("ab") as log:
            status = run_detached(
                "profiler_core.capture.job_supervisor",
                str(directory),
                environment=environment,
                log=log,
                kept_fd=alive,
                within_s=_START_WITHIN_S,
            )
    except DidNotRun as error:
        raise CaptureFailed(
            f"The capture could not be started: {error}.",
            remedy="Check that this machine has free memory and processes, then try again.",
        ) from error
    finally:
        os.close(alive)
    if status != 0:
        raise CaptureFailed(
            f"The capture could not be started.{_last_words(directory)}",
            remedy=f"Read {directory / files.SUPERVISOR_LOG}.",
        )
