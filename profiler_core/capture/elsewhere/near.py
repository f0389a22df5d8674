"""Leads a capture on another machine from here: sends, follows, cancels, and brings runs back."""

import contextlib
import json
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from profiler_core import run_directory as names
from profiler_core.capture.against import file_of
from profiler_core.capture.elsewhere import slurm
from profiler_core.capture.elsewhere.bundle import write_bundle
from profiler_core.capture.elsewhere.host import called
from profiler_core.capture.elsewhere.kubernetes import running_pod
from profiler_core.capture.elsewhere.lost import write_lost
from profiler_core.capture.elsewhere.plan import Plan
from profiler_core.capture.elsewhere.there import FAILURE
from profiler_core.capture.elsewhere.transport import interpreter_in, sent_text
from profiler_core.capture.launcher import PROGRESS
from profiler_core.capture.progress import ProgressLine
from profiler_core.capture.provenance import code_version
from profiler_core.capture.run_writer import write_json
from profiler_core.errors import Cancelled, CaptureFailed, FusionscopeError
from profiler_core.jobs import directory as job_files
from profiler_core.jobs.brought import (
    MADE,
    PREFIX,
    captures_in,
    held,
    mark,
    move_captures,
    note_shared,
    with_what_came_before,
)
from profiler_core.jobs.command import GRACE_S, FarCommand
from profiler_core.jobs.room import KEEP_FREE_BYTES
from profiler_core.typed import ready
from profiler_core.units import format_bytes

_LOOK_EVERY_S = 0.2
_STAYS_EVERY_S = 10.0  # the other side takes a longer silence for a lost connection
_SSH_FAILED = 255  # ssh's own exit status, whatever the command's
_NOT_FOUND = (126, 127)  # a shell's, where there is no such program
_LOG_TAIL_BYTES = 4_000
_LONGEST_FAILURE = 64_000

Listener = Callable[[ProgressLine], None]


def capture_there(
    plan: Plan,
    *,
    progress_file: Path | None,
    listener: Listener,
    is_cancelled: Callable[[], bool],
) -> tuple[Path, ...]:
    """Do what the plan says; returns the folders of its captures, in `plan.out`.

    Args:
        plan: what runs where.
        progress_file: gets the lines of progress that come from there.
        listener: gets each of them, and what happens on this side.
        is_cancelled: asked several times a second.

    Returns:
        One folder, of a sweep one for each point that was begun; of a capture that was lost on its
        way one whose runs say so.

    Raises:
        CaptureFailed: the machine cannot be reached, or cannot capture; nothing was written.
        Cancelled: before anything was measured.
    """
    was_there = plan.out.is_dir()
    plan.out.mkdir(parents=True, exist_ok=True)
    try:
        _check_room(plan)
        # On the disk of the library: what came is moved there, and that disk must have room for it.
        with (
            tempfile.TemporaryDirectory(prefix=PREFIX, dir=plan.out) as temporary,
            held(Path(temporary)),
        ):
            work = _Work(Path(temporary), progress_file, listener)
            if plan.is_shared:
                _on_slurm(plan, work, is_cancelled)
            else:
                _over_pipes(plan, work, is_cancelled)
            return _brought_home(plan, work)
    finally:
        if not was_there:
            with contextlib.suppress(OSError):  # something lies in it
                plan.out.rmdir()


def _check_room(plan: Plan) -> None:
    """Begin nothing whose runs could not come home: a pod is deleted with what it measured.

    Raises:
        CaptureFailed: there is no room.
    """
    free = shutil.disk_usage(plan.out).free
    if not plan.is_shared and free <= KEEP_FREE_BYTES:
        raise CaptureFailed(
            f"The disk of {plan.out} has only {format_bytes(free)} left, and what "
            f"{called(plan.host)} measures has to come there.",
            remedy="Make room, or choose another folder.",
        )


class _Work:
    """Files of this side while it waits, and the lines of progress that came."""

    def __init__(self, folder: Path, progress_file: Path | None, listener: Listener) -> None:
        self.folder = folder
        self.progress = folder / job_files.PROGRESS
        self.made = folder / MADE
        self.log = folder / "log.txt"
        self._file = progress_file
        self.progress_file = progress_file
        self._listener = listener
        self._n_read = 0
        if progress_file is not None:
            progress_file.parent.mkdir(parents=True, exist_ok=True)

    def say(self, text: str) -> None:
        """Tell what happens on this side."""
        self._listener(ProgressLine(time.time(), "starting", None, None, None, text))

    def pass_on(self) -> None:
        """Hand over the whole lines that came since the last time."""
        if not self.progress.exists():
            return
        with self.progress.open("rb") as file:
            file.seek(self._n_read)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]
        self._n_read += len(data)
        for raw in data.splitlines(keepends=True):
            # What is no line of ours stays there; some nests without end.
            with contextlib.suppress(ValueError, RecursionError):
                self._listener(msgspec.json.decode(raw, type=ready(ProgressLine)))
                if self._file is not None:
                    with self._file.open("ab") as file:
                        file.write(raw)

    @contextlib.contextmanager
    def passing_on(self) -> Iterator[None]:
        """In the block, lines are handed over by a thread."""
        has_ended = threading.Event()

        def follow() -> None:
            while not has_ended.wait(_LOOK_EVERY_S):
                self.pass_on()

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            has_ended.set()
            thread.join()
            self.pass_on()

    def last_line(self) -> str:
        """Of what was printed there, or by ssh."""
        tail = self.log.read_bytes()[-_LOG_TAIL_BYTES:] if self.log.exists() else b""
        lines = [line.strip() for line in tail.decode("utf-8", "replace").splitlines()]
        return next((line for line in reversed(lines) if line), "").rstrip(".")


def _on_slurm(plan: Plan, work: _Work, is_cancelled: Callable[[], bool]) -> None:
    made = plan.folder / "runs"
    made.mkdir(parents=True)
    note_shared(work.folder, plan.folder)
    work.progress = plan.folder / "progress.jsonl"
    work.made = made
    with work.passing_on():
        slurm.run_on_slurm(
            plan.there.to_argv(), plan.host.slurm_options, made, work.progress,
            is_cancelled=is_cancelled,
        )  # fmt: skip


def _over_pipes(plan: Plan, work: _Work, is_cancelled: Callable[[], bool]) -> None:
    bundle = work.folder / "sent.tar.gz"
    write_bundle(bundle, plan.project)
    order = {**plan.order, "n_bytes": bundle.stat().st_size}
    work.say(f"Connects to {called(plan.host)}")
    with contextlib.ExitStack() as stack:
        words = (
            plan.transport
            if plan.job is None
            else stack.enter_context(running_pod(plan.host, plan.job, work.say, is_cancelled))
        )
        log = stack.enter_context(work.log.open("ab"))
        try:
            command = FarCommand(
                words,
                order,
                before=sent_text(),
                sent=bundle,
                log=log.fileno(),
                progress=work.progress,
                made=work.made,
            )
        except FileNotFoundError:
            raise CaptureFailed(
                f"{words[0]} is not on the PATH here.", remedy="Install it."
            ) from None
        stack.callback(command.abandon)
        status = _follow(command, work, is_cancelled)
        if not command.has_answered:
            _write_why_lost(
                plan, work, status, was_cancelled=is_cancelled(), lacks_room=command.lacks_room
            )


def _follow(command: FarCommand, work: _Work, is_cancelled: Callable[[], bool]) -> int:
    """Until it has ended: its exit status. One that is cancelled is asked more and more firmly."""
    sent: signal.Signals | None = None
    sent_at = stayed_at = time.monotonic()
    firmer = {None: signal.SIGINT, signal.SIGINT: signal.SIGTERM, signal.SIGTERM: signal.SIGKILL}
    while (status := command.poll()) is None:
        now = time.monotonic()
        may_send = sent is None or now - sent_at > GRACE_S
        # What it measured until then is on its way already.
        if is_cancelled() and may_send and sent in firmer and not work.made.exists():
            sent, sent_at = firmer[sent], now
            command.signal(sent)
        if now - stayed_at > _STAYS_EVERY_S:
            stayed_at = now
            command.stay()
        work.pass_on()
        time.sleep(_LOOK_EVERY_S)
    work.pass_on()
    return status


def _write_why_lost(
    plan: Plan, work: _Work, status: int, *, was_cancelled: bool, lacks_room: bool
) -> None:
    """Runs that say what became of a command that did not say itself how it ended.

    Raises:
        CaptureFailed: it was not begun.
        Cancelled: likewise.
    """
    name, last_line = called(plan.host), work.last_line()
    quoted = f": {last_line}" if last_line else ""
    scratch = work.progress.with_name(job_files.SCRATCH)
    lines = work.progress.read_bytes() if work.progress.exists() else b""
    if was_cancelled and not lines:
        raise Cancelled("The capture was cancelled.", remedy="Start it again when you like.")
    if not scratch.exists():
        raise _why_not_begun(plan, status, last_line)
    left = scratch.read_bytes().decode("utf-8", "replace")
    lost = status == _SSH_FAILED or plan.job is not None
    error = CaptureFailed(
        f"The connection to {name} was lost{quoted}."
        if lost
        else f"The process on {name} ended with status {status}{quoted}.",
        remedy=f"Start the capture again; what was measured until then lies in {left} there.",
    )
    if lacks_room:
        error = CaptureFailed(
            f"What {name} measured has no room below {plan.out}.",
            remedy="Make room, and capture again."
            if plan.job is not None  # which is deleted with its pod
            else f"Make room, copy it from {left} there, and open it.",
        )
        shutil.rmtree(work.made, ignore_errors=True)
    work.made.mkdir(exist_ok=True)
    write_lost(plan.spec, work.made, lines, error, work.progress_file)


def _why_not_begun(plan: Plan, status: int, last_line: str) -> CaptureFailed:
    """The machine cannot be reached, or nothing of ours starts there."""
    name, python = called(plan.host), interpreter_in(plan.spec.python)
    log = last_line.lower()
    if status in _NOT_FOUND:
        return CaptureFailed(
            f"{name} has no {python}: {last_line or 'it cannot be started there'}.",
            remedy="Pass --python with the path of a Python there.",
        )
    if status != _SSH_FAILED:
        return CaptureFailed(
            f"{python} on {name} ended with status {status}: {last_line or 'it printed nothing'}.",
            remedy="Pass --python with a Python there that is 3.8 or newer, and a --host-folder "
            "that can be written.",
        )
    if "host key verification failed" in log or "host key is known" in log:
        return CaptureFailed(
            f"ssh does not trust the host key of {name}: it is unknown here, or has changed.",
            remedy=f"Connect once by hand (ssh {plan.host.ssh}), and compare the key.",
        )
    if "permission denied" in log:
        return CaptureFailed(
            f"{name} does not let you in: {last_line}.",
            remedy="Let ssh sign in without a question: a key in your agent, or in ~/.ssh/config.",
        )
    return CaptureFailed(
        f"{name} cannot be reached: {last_line or 'ssh ended with status 255'}.",
        remedy=f"Try ssh {plan.host.ssh} by hand.",
    )


def _brought_home(plan: Plan, work: _Work) -> tuple[Path, ...]:
    """Move what was made into the library."""
    failure = work.made / FAILURE
    folders = captures_in(work.made)
    if not folders:
        error = _told(failure) if failure.is_file() else _why_no_run(plan, work)
        if plan.is_shared:
            shutil.rmtree(plan.folder, ignore_errors=True)
        raise error
    with_what_came_before(folders[0] / PROGRESS, work.progress)
    if plan.project is not None:
        _with_version(folders, code_version(file_of(plan.spec).parent))
    if not plan.is_shared:
        mark(folders)
    move_captures(work.made, plan.out)
    if plan.is_shared:
        shutil.rmtree(plan.folder, ignore_errors=True)
    return tuple(plan.out / folder.name for folder in folders)


def _why_no_run(plan: Plan, work: _Work) -> CaptureFailed:
    return CaptureFailed(
        f"The capture on {called(plan.host)} made no run: "
        f"{work.last_line() or 'it printed nothing'}.",
        remedy="Try the same capture there by hand, or report it.",
    )


class _Failure(msgspec.Struct):
    problem: str
    remedy: str
    is_cancelled: bool = False


def _told(file: Path) -> FusionscopeError:
    try:
        with file.open("rb") as opened:
            failure = msgspec.json.decode(opened.read(_LONGEST_FAILURE), type=ready(_Failure))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return CaptureFailed(f"What came back cannot be read: {error}.", remedy="Try it again.")
    kind = Cancelled if failure.is_cancelled else CaptureFailed
    return kind(failure.problem, remedy=failure.remedy)


def _with_version(folders: list[Path], version: dict[str, object]) -> None:
    """The copy that was sent is in no repository: say which version it is."""
    for folder in folders:
        for file in sorted(folder.glob(f"*/{names.RUN_JSON}")):
            # What is damaged is told later; a full disk costs the version, not the runs.
            with contextlib.suppress(
                ValueError, TypeError, AttributeError, LookupError, RecursionError, OSError
            ):
                if file.stat().st_size > names.LARGEST_RUN_JSON_BYTES:
                    continue
                record = json.loads(file.read_text("utf-8"))
                write_json(file, {**record, "environment": {**record["environment"], **version}})
