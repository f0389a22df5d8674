"""Submits jobs, lists them, follows and cancels them: from any session, and any server after it.

The web server only starts a job's supervisor and reads files; it may stop, and the job goes on.
"""

import os
import re
import secrets
import socket
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from profiler_core import home
from profiler_core.errors import BadInput, CaptureFailed
from profiler_core.jobs import directory as files
from profiler_core.jobs.capture_progress import CaptureProgress, read_progress
from profiler_core.jobs.capture_result import first_line, result_of
from profiler_core.jobs.directory import LIVE_STATES, JobSpec, JobState, JobStatus
from profiler_core.jobs.queue import check_number
from profiler_core.worker.environment import Need, child_environment
from profiler_core.worker.process import DidNotRun, run_detached
from profiler_core.worker.protocol import Progress, Record, last_record, outcome

_JOB_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
# CSI and OSC sequences, and what else a terminal would act upon (ECMA-48).
_TERMINAL_CODES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00-\x08\x0b-\x1f\x7f]"
)
_TAIL_BYTES = 64_000
_START_WITHIN_S = 30.0
_LOOK_EVERY_S = 0.1

_T = TypeVar("_T")


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
    progress: CaptureProgress  # of a capture
    remedy: str | None = None  # for the error
    n_ahead: int = 0  # while queued: jobs that come first
    exit_status: int | None = None

    @property
    def is_live(self) -> bool:
        """Whether the job is queued or running."""
        return self.state in LIVE_STATES

    @property
    def result(self) -> Path | None:
        """The capture's folder, once there is one."""
        return result_of(self.directory, self.spec)

    @property
    def newest(self) -> Progress:
        """How far a module of ours is."""
        record = _record(self.directory, only_near_end=True)
        return record if isinstance(record, Progress) else Progress()


def submit(
    command: Sequence[str],
    *,
    title: str,
    kind: str = "capture",
    device: str = "",
    environment: Mapping[str, str] | None = None,
    needs: Collection[Need] = (),
    owner: str | None = None,
    out: Path | None = None,
    capture: Mapping[str, object] | None = None,
    subject: str = "",
    is_shared: bool = False,
    needed_bytes: tuple[int, int] = (0, 0),
) -> str:
    """Start `command` under a supervisor of its own, and return the job's id at once.

    Args:
        command: argv; `{progress}` becomes the path of the progress file, `{job}/` at the
            beginning of an argument the job's folder.
        title: what people see in the list.
        kind: "capture", or of work by a module of ours that answers as `worker/protocol.py` says
            and starts again when it was killed.
        device: of captures: those of one device run in the order of submission, one at a time.
        environment: all of the variables that a capture gets; None: those without secrets.
        needs: what a module of ours must reach.
        owner: who asked, where people sign in.
        out: the folder below which the command makes its capture's folder.
        capture: the answers of the form, kept for "capture again".
        subject: what it is about.
        is_shared: where a job of the same kind and subject is on its way, that one is enough.
        needed_bytes: estimates of its memory and of what it adds to the disk.

    Raises:
        QueueFull: too many jobs run or wait.
        CaptureFailed: the supervisor does not start.
        BadInput: the home cannot be written.
    """
    root = home.jobs_directory()
    try:
        with files.queue_lock(root):
            same = _same(root, kind, subject) if is_shared else None
            if same is not None:
                return same
            check_number(root, owner)
            directory = root / _new_job_id()
            files.mark_live(directory)
            directory.mkdir()
            spec = JobSpec(
                job_id=directory.name,
                command=tuple(_placed(word, directory) for word in command),
                title=title,
                device=device,
                submitted_at=time.time(),
                owner=owner,
                host=socket.gethostname(),
                out=str(out) if out else None,
                capture=dict(capture) if capture is not None else None,
                kind=kind,
                subject=subject,
                needs=tuple(needs),
                answers=kind != "capture",
                starts_again=kind != "capture",
                memory_bytes=needed_bytes[0],
                disk_bytes=needed_bytes[1],
            )
            alive = files.hold_alive(directory)
            files.write(directory, JobStatus(state="queued"))
            files.write(directory, spec)
    except OSError as error:
        raise BadInput(
            f"{root} cannot be written: {error.strerror}.",
            remedy="Make room on that disk, or give the server's user the right to write there.",
        ) from error
    try:
        start_supervisor(directory, alive, environment or child_environment(needs))
    except CaptureFailed as error:
        files.write(directory, JobStatus(state="failed", error=error.problem, remedy=error.remedy))
        files.unmark_live(directory)
        raise
    return directory.name


def _placed(word: str, directory: Path) -> str:
    if word == "{progress}":
        return str(directory / files.PROGRESS)
    return f"{directory}/{word.removeprefix('{job}/')}" if word.startswith("{job}/") else word


def _same(root: Path, kind: str, subject: str) -> str | None:
    """The job that does just this already."""
    for directory, spec, _ in files.live_jobs(root):
        is_same = (spec.kind, spec.subject) == (kind, subject)
        if is_same and not (directory / files.CANCEL).exists():
            return spec.job_id
    return None


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
            f"There is no job {job_id} on this machine.", remedy="Choose one from the list."
        ) from error
    if status.state in LIVE_STATES and not files.is_supervised(directory, spec):
        # It may have ended between the two reads: only a second look can tell.
        status = files.read_status(directory)
        if status.state in LIVE_STATES:
            status = after_interruption(directory, spec, status)
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
        remedy=status.remedy,
        started_at=status.started_at,
        ended_at=status.ended_at,
        heartbeat_at=files.heartbeat_at(directory),
        cancel_requested=(directory / files.CANCEL).exists(),
        waiting_for=waiting_for,
        progress=progress,
        n_ahead=status.n_ahead,
        exit_status=status.exit_status,
    )


def jobs(limit: int = 50, *, kind: str | None = None, owner: str | None = None) -> tuple[Job, ...]:
    """The newest jobs, newest first; a folder that is no job is passed over.

    Args:
        limit: at most so many.
        kind: of this kind only.
        owner: of this person only.
    """
    newest: list[Job] = []
    for directory in sorted(job_directories(), reverse=True):
        if len(newest) == limit:
            break
        try:
            spec = files.read_spec(directory)
            if kind in (None, spec.kind) and owner in (None, spec.owner):
                newest.append(job(directory.name))
        except (OSError, msgspec.MsgspecError, BadInput):  # being made just now, or half deleted
            continue
    return tuple(sorted(newest, key=lambda job: job.spec.submitted_at, reverse=True))


def job_directories() -> list[Path]:
    """The folders of all jobs."""
    root = home.jobs_directory()
    return [p for p in root.iterdir() if _JOB_ID.fullmatch(p.name)] if root.is_dir() else []


def live_subjects(kind: str) -> frozenset[str]:
    """What the jobs of a kind are about that run, wait, or were interrupted and start again."""
    subjects = set()
    for directory in files.live_directories(home.jobs_directory()):
        try:
            spec = files.read_spec(directory)
        except (OSError, msgspec.MsgspecError):
            continue
        if spec.kind == kind:
            subjects.add(spec.subject)
    return frozenset(subjects)


def owner_of_capture(folder: Path) -> str | None:
    """Who submitted the job that made this capture's folder, of all jobs; None: nobody did."""
    begins = first_line(folder / files.PROGRESS)
    for directory in sorted(job_directories(), reverse=True) if begins else ():
        if first_line(directory / files.PROGRESS) == begins:
            try:
                return files.read_spec(directory).owner
            except (OSError, msgspec.MsgspecError):
                continue
    return None


def follow(job_id: str) -> Iterator[Progress]:
    """How far a module of ours is, again and again until it has ended.

    While it waits, `stage` is "queued" and `text` says for what.

    Raises:
        BadInput: no such job.
    """
    while (now := job(job_id)).is_live:
        if now.state == "queued":
            yield Progress(stage="queued", text=now.waiting_for or "Waits for its turn.")
        else:
            yield now.newest
        time.sleep(_LOOK_EVERY_S)


def result(job_id: str, kind: type[_T]) -> _T:
    """What the work of a job that has ended gave.

    Args:
        job_id: which.
        kind: the record that is expected.

    Raises:
        BadInput: it failed, with its own sentences; or it was cancelled.
    """
    ended = job(job_id)
    problem = ended.error or f"{ended.spec.title}: {ended.state} before there was a result."
    record = _record(ended.directory) if ended.state == "finished" else None
    return outcome(
        record,
        1 if record is None else ended.exit_status or 0,
        kind,
        ended=BadInput(problem, remedy=ended.remedy or "Try it once more."),
        who=ended.spec.kind,
    )


def _record(directory: Path, *, only_near_end: bool = False) -> Record | None:
    try:
        descriptor = os.open(directory / files.ANSWER, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return last_record(descriptor, only_near_end=only_near_end)
    finally:
        os.close(descriptor)


def cancel(job_id: str) -> None:
    """Ask the job to stop. It answers within seconds; asking twice does no harm.

    Raises:
        BadInput: no such job.
    """
    directory = _directory(job_id)
    if not directory.is_dir():
        raise BadInput(f"There is no job {job_id}.", remedy="Choose one from the list.")
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
        raise BadInput(f"{job_id[:60]!r} is not a job.", remedy="Choose one from the list.")
    return home.jobs_directory() / job_id


def after_interruption(directory: Path, spec: JobSpec, status: JobStatus) -> JobStatus:
    """What a job is whose supervisor is gone: it waits to be started again, or has ended."""
    change = msgspec.structs.replace
    if (directory / files.CANCEL).exists():
        return change(status, state="cancelled", ended_at=time.time())
    if spec.starts_again and status.n_starts < files.MOST_STARTS:
        text = "Was interrupted, and starts again."
        return change(status, state="queued", waiting_for=text, n_ahead=0)
    return change(
        status,
        state="interrupted",
        error=_why_interrupted(directory),
        remedy="Start it again; what was measured is kept with the runs."
        if spec.kind == "capture"
        else "Try it once more; it may need more memory than there is.",
        ended_at=files.heartbeat_at(directory) or status.started_at,
    )


def _why_interrupted(directory: Path) -> str:
    last = files.heartbeat_at(directory)
    sign = (
        f"Its last sign of life came at {time.strftime('%H:%M:%S on %d %B', time.localtime(last))}."
        if last
        else "It never gave a sign of life."
    )
    return (
        "The process that supervised this job is gone: it was killed, or the machine "
        f"restarted. {sign}{_last_words(directory)}"
    )


def _last_words(directory: Path) -> str:
    """What the supervisor itself printed last, as a further sentence; normally nothing."""
    log = directory / files.SUPERVISOR_LOG
    if not log.is_file():
        return ""
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    return f" It last said: {lines[-1]}" if lines else ""


def start_supervisor(directory: Path, alive: int, environment: Mapping[str, str]) -> None:
    """Start the process that looks after a job.

    Args:
        directory: of the job.
        alive: what `hold_alive` gave; it is closed here, and stays with that process.
        environment: of the supervisor and of the command.

    Raises:
        CaptureFailed: it does not start.
    """
    try:
        with (directory / files.SUPERVISOR_LOG).open("ab") as log:
            status = run_detached(
                "profiler_core.jobs.supervisor",
                str(directory),
                environment=environment,
                log=log,
                kept_fd=alive,
                within_s=_START_WITHIN_S,
            )
    except DidNotRun as error:
        raise CaptureFailed(
            f"The job could not be started: {error}.",
            remedy="Check that this machine has free memory and processes, then try again.",
        ) from error
    finally:
        os.close(alive)
    if status != 0:
        raise CaptureFailed(
            f"The job could not be started.{_last_words(directory)}",
            remedy=f"Read {directory / files.SUPERVISOR_LOG}.",
        )
