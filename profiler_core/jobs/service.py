"""Submits jobs, lists them, follows and cancels them: from any session, and any server after it.

The web server only starts a job's supervisor and reads files; it may stop, and the job goes on.
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from profiler_core import home
from profiler_core.errors import BadInput, ServerFault, WorkEnded
from profiler_core.guarded_open import open_guarded
from profiler_core.jobs import directory as files
from profiler_core.jobs.capture_progress import CaptureProgress, read_progress
from profiler_core.jobs.capture_result import first_line, result_of
from profiler_core.jobs.directory import LIVE_STATES, JobSpec, JobState, JobStatus
from profiler_core.jobs.room import size_of
from profiler_core.jobs.starting import last_words
from profiler_core.jobs.starting import submit as submit  # for the door
from profiler_core.terminal_text import printable
from profiler_core.worker.protocol import Failure, Progress, Record, last_record, outcome

_JOB_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
_TAIL_BYTES = 64_000
_LOOK_EVERY_S = 0.1
_MOST = 10_000

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
    n_ahead: int = 0  # while queued: those of them that come first
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


def job(job_id: str) -> Job:
    """The job as it stands now.

    Raises:
        BadInput: no such job.
    """
    directory = _directory(job_id)
    recorded = files.read_job(directory)
    if recorded is None:
        raise BadInput(
            f"There is no job {job_id} on this machine.", remedy="Choose one from the list."
        )
    spec, status = recorded
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


def jobs(
    limit: int = 50,
    *,
    kind: str | None = None,
    owner: str | None = None,
    which: Callable[[Job], bool] | None = None,
) -> tuple[Job, ...]:
    """The newest jobs, newest first; a folder that is no job is passed over.

    Args:
        limit: at most so many.
        kind: of this kind only.
        owner: of this person only.
        which: of which this is true only.
    """
    newest: list[Job] = []
    for directory in sorted(job_directories(), reverse=True):
        if len(newest) == limit:
            break
        try:
            spec = files.read_spec(directory)
            if kind not in (None, spec.kind) or owner not in (None, spec.owner):
                continue
            candidate = job(directory.name)
            if which is None or which(candidate):
                newest.append(candidate)
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
    last = Progress()
    while (now := job(job_id)).is_live:
        if now.state == "queued":
            yield Progress(stage="queued", text=now.waiting_for or "Waits for its turn.")
        else:
            # Where its result stands already, a job may not have ended yet.
            last = last if now.newest == Progress() else now.newest
            yield last
        time.sleep(_LOOK_EVERY_S)


def result(job_id: str, kind: type[_T]) -> _T:
    """What the work of a job that has ended gave.

    Args:
        job_id: which.
        kind: the record that is expected.

    Raises:
        BadInput: it failed, with its own sentences; or it was cancelled.
        ServerFault: it failed, and not by what it was given.
        WorkEnded: it was killed.
    """
    ended = job(job_id)
    problem = ended.error or f"{ended.spec.title}: {ended.state} before there was a result."
    record = _record(ended.directory) if ended.state == "finished" else None
    return outcome(
        record,
        1 if record is None else ended.exit_status or 0,
        kind,
        ended=_fault_of(ended)(problem, remedy=ended.remedy or "Try it once more."),
        who=ended.spec.kind,
    )


def _fault_of(ended: Job) -> type[BadInput]:
    """Whose fault it is that a job has no result: that of what it was given, or the machine's."""
    last = _record(ended.directory) if ended.state == "failed" else None
    if ended.state == "cancelled":
        return BadInput
    if isinstance(last, Failure):
        return ServerFault if last.is_servers else BadInput
    # By itself and without a word: a fault of ours, and its error is the end of a traceback.
    is_broken = ended.exit_status is not None and ended.exit_status > 0
    return ServerFault if is_broken else WorkEnded


def _record(directory: Path, *, only_near_end: bool = False) -> Record | None:
    try:
        descriptor = os.open(directory / files.ANSWER, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return last_record(descriptor, only_near_end=only_near_end)
    finally:
        os.close(descriptor)


def forget_made(owner: str | None, kinds: Collection[str], n_bytes: int) -> None:
    """Delete ended jobs of these kinds, the oldest first, until they take no more than that.

    Args:
        owner: whose; None: everybody's.
        kinds: of jobs whose folders hold what they made.
        n_bytes: of all of them together.
    """
    ended = jobs(_MOST, owner=owner, which=lambda job: job.spec.kind in kinds and not job.is_live)
    total = 0
    for number, made in enumerate(ended):
        total += size_of(made.directory)
        if number and total > n_bytes:  # the newest may be on its way to a browser
            shutil.rmtree(made.directory, ignore_errors=True)


def cancel(job_id: str, problem: str = "", remedy: str = "") -> None:
    """Ask the job to stop. It answers within seconds; asking twice does no harm.

    Args:
        job_id: which.
        problem: why, where its person did not ask for it.
        remedy: for that.

    Raises:
        BadInput: no such job.
    """
    directory = _directory(job_id)
    if not directory.is_dir():
        raise BadInput(f"There is no job {job_id}.", remedy="Choose one from the list.")
    files.write_cancel(directory, problem, remedy)


def log_tail(job_id: str, n_lines: int = 15) -> str:
    """`tail_of` what the job's command printed."""
    return tail_of(log_path(job_id), n_lines)


def log_path(job_id: str) -> Path:
    """What the job's command printed; there is no file before its first line."""
    return _directory(job_id) / files.LOG


def tail_of(path: Path, n_lines: int) -> str:
    """The last lines of what a process printed, without terminal codes; "" without a file."""
    try:
        with open_guarded(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except (FileNotFoundError, PermissionError):  # a link that leads elsewhere is no log
        return ""
    # A progress bar rewrites its line with carriage returns: what a terminal shows is the last.
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
    shown = [printable(line).rstrip() for line in lines]
    while shown and not shown[-1]:
        shown.pop()
    return "\n".join(shown[-n_lines:])


def _directory(job_id: str) -> Path:
    """Where the job lies. An id comes from a URL: anything but an id is refused."""
    if not _JOB_ID.fullmatch(job_id):
        raise BadInput(f"{job_id[:60]!r} is not a job.", remedy="Choose one from the list.")
    return home.jobs_directory() / job_id


_AFTER_INTERRUPTION = {
    "capture": "Start it again; what was measured is kept with the runs.",
    "try": "Resume it: what was measured is kept, and is not measured again.",
}


def after_interruption(directory: Path, spec: JobSpec, status: JobStatus) -> JobStatus:
    """What a job is whose supervisor is gone: it waits to be started again, or has ended."""
    change = msgspec.structs.replace
    if (directory / files.SCRATCH).exists() and status.n_starts < files.MOST_STARTS:
        text = "Was interrupted; what it had measured is brought home."
        return change(status, state="queued", waiting_for=text, n_ahead=0)
    if (directory / files.CANCEL).exists():
        return files.cancelled(directory, change(status, ended_at=time.time()))
    # What measures is not begun by whoever happens to start a dashboard of this home next.
    is_ours = spec.starts_again and spec.kind not in files.MEASURING
    if is_ours and status.n_starts < files.MOST_STARTS:
        text = "Was interrupted, and starts again."
        return change(status, state="queued", waiting_for=text, n_ahead=0)
    return change(
        status,
        state="interrupted",
        error=_why_interrupted(directory),
        remedy=_AFTER_INTERRUPTION.get(
            spec.kind, "Try it once more; it may need more memory than there is."
        ),
        ended_at=files.heartbeat_at(directory) or status.started_at,
    )


def _why_interrupted(directory: Path) -> str:
    last = files.heartbeat_at(directory)
    sign = (
        f"Its last sign of life came at {time.strftime('%H:%M:%S on %d %B', time.localtime(last))}."
        if last
        else "It never gave a sign of life."
    )
    scratch = directory / files.SCRATCH
    folder = scratch.read_bytes().decode("utf-8", "replace") if scratch.exists() else ""
    left = f" What it measured lies in {folder}." if folder else ""
    return (
        "The process that supervised this job is gone: it was killed, or the machine "
        f"restarted. {sign}{last_words(directory)}{left}"
    )
