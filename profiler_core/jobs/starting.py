"""Submits a job, and starts the process that looks after it."""

import os
import secrets
import socket
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from profiler_core import home
from profiler_core.errors import CaptureFailed, ServerFault
from profiler_core.jobs import directory as files
from profiler_core.jobs.directory import JobSpec, JobStatus
from profiler_core.jobs.queue import check_number
from profiler_core.worker.environment import Need, child_environment
from profiler_core.worker.process import DidNotRun, run_detached

_START_WITHIN_S = 30.0


def submit(
    command: Sequence[str],
    *,
    title: str,
    kind: str = "capture",
    device: str = "",
    environment: Mapping[str, str] | None = None,
    needs: Collection[Need] = (),
    owner: str | None = None,
    token: str | None = None,
    out: Path | None = None,
    capture: Mapping[str, object] | None = None,
    asked: Collection[Mapping[str, object]] = (),
    subject: str = "",
    is_shared: bool = False,
    needed_bytes: tuple[int, int] = (0, 0),
    runner: str | None = None,
    input_bytes: int = 0,
    is_own_machine: bool = False,
) -> str:
    """Start `command` under a supervisor of its own, and return the job's id at once.

    Args:
        command: argv; `{progress}` becomes the path of the progress file, `{out}` the folder of
            that name, `{job}/` at the beginning of an argument the job's folder.
        title: what people see in the list.
        kind: "capture"; "try", which goes on where it was killed; or of work by a module of ours
            that answers as `worker/protocol.py` says and starts again when it was killed.
        device: of captures: those of one device run in the order of submission, one at a time.
        environment: all of the variables that a capture gets; None: those without secrets.
        needs: what a module of ours must reach.
        owner: who asked, where people sign in.
        token: the id of the API token by which that person asked.
        out: the folder below which the command makes its capture's folder.
        capture: the answers of the form, kept for "capture again".
        asked: of captures by another user of the system, the spec of each that this one makes.
        subject: what it is about.
        is_shared: where a job of the same kind and subject is on its way, that one is enough.
        needed_bytes: estimates of its memory and of what it adds to the disk.
        runner: the user of the system that a capture runs as; None: who runs this.
        input_bytes: the size of what it reads.
        is_own_machine: it runs code of the person whose machine this is, and gets that person's
            variables when it starts again.

    Raises:
        QueueFull: too many jobs run or wait.
        CaptureFailed: the supervisor does not start.
        ServerFault: the home cannot be written.
    """
    root = home.jobs_directory()
    try:
        with files.queue_lock(root):
            live = {directory: spec for directory, spec, _ in files.live_jobs(root)}
            same = _same(live, kind, subject) if is_shared else None
            if same is not None:
                return same
            check_number(live.values(), owner)
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
                token=token,
                host=socket.gethostname(),
                out=str(out) if out else None,
                capture=dict(capture) if capture is not None else None,
                asked=tuple(map(dict, asked)),
                kind=kind,
                subject=subject,
                needs=tuple(needs),
                memory_bytes=needed_bytes[0],
                disk_bytes=needed_bytes[1],
                runner=runner,
                input_bytes=input_bytes,
                is_own_machine=is_own_machine,
            )
            alive = files.hold_alive(directory)
            files.write(directory, JobStatus(state="queued"))
            files.write(directory, spec)
    except OSError as error:
        raise ServerFault(
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
    return f"{directory}/{word.removeprefix('{job}/')}" if word.startswith("{job}/") else word


def _same(live: Mapping[Path, JobSpec], kind: str, subject: str) -> str | None:
    """The job that does just this already."""
    for directory, spec in live.items():
        is_same = (spec.kind, spec.subject) == (kind, subject)
        if is_same and not (directory / files.CANCEL).exists():
            return spec.job_id
    return None


def _new_job_id() -> str:
    """A fresh id: sorts by time of submission, safe in a URL and as a folder's name."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


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
            f"The job could not be started.{last_words(directory)}",
            remedy=f"Read {directory / files.SUPERVISOR_LOG}.",
        )


def last_words(directory: Path) -> str:
    """What the supervisor itself printed last, as a further sentence; normally nothing."""
    log = directory / files.SUPERVISOR_LOG
    if not log.is_file():
        return ""
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    return f" It last said: {lines[-1]}" if lines else ""
