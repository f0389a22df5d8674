"""The process that supervises one job: `python -m profiler_core.jobs.supervisor DIR`.

Waits for its turn, runs the command in a process group of its own, touches the heartbeat,
turns `cancel` into signals, and writes the final state. It holds the lock on `alive`; when
it is killed the kernel drops the lock and, on Linux, stops the command. What may start again is
started again by whoever looks after the queue (`resuming`).
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import msgspec

from profiler_core.errors import FusionscopeError
from profiler_core.jobs import directory as files
from profiler_core.jobs.bounded_log import trim
from profiler_core.jobs.capture_progress import read_progress
from profiler_core.jobs.capture_result import result_of
from profiler_core.jobs.command import GRACE_S, Command, OthersCommand, OwnCommand
from profiler_core.jobs.directory import JobStatus
from profiler_core.jobs.queue import Waiting, take_turn
from profiler_core.jobs.rights import Right
from profiler_core.owner_file import owner_of, write_owner
from profiler_core.settings import settings
from profiler_core.worker.protocol import Failure, last_record

_LOOK_EVERY_S = 0.2
_BEAT_EVERY_S = 1.0
_CANCELLED_STATUS = 130  # 128 + SIGINT, what `capture` answers when it was cancelled
_PR_SET_PDEATHSIG = 1  # prctl(2)
_LINES_OF_THE_END = 5
_MADE = "made"  # folders that come from another user's command
_LONGEST_PAUSE = 15  # times the shortest
_C = ctypes.CDLL(None)


class Supervisor:
    """One job, from its turn in the queue to its end."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._spec = files.read_spec(directory)
        self._n_starts = files.read_status(directory).n_starts
        self._told_to_stop = False
        self._last_beat = 0.0
        # What another user's command made comes home with its owner.
        self._has_owner = self._spec.owner is None or self._spec.runner is not None
        self._is_printing = False  # while the command runs
        self._there_before: frozenset[str] = frozenset()  # folders of captures

    def run(self) -> None:
        """Wait for the turn, run the command, write the end."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)
        (self._directory / files.ALIVE).write_text(f"{os.getpid()}\n")  # for people and tests
        end = self._brought_home() if (self._directory / files.SCRATCH).exists() else None
        while end is None:
            if not self._wait_for_turn():
                end = self._stopped(None)
                break
            end = self._run_once()
        if end.state not in files.LIVE_STATES:
            self._write(end)
            files.unmark_live(self._directory)

    def _run_once(self) -> JobStatus | None:
        """Run the command to its end; None: it was killed, and starts again in its turn."""
        started_at = time.time()
        self._there_before = _names_in(self._spec.out)
        with self._alone() as lock, self._outputs() as (output, log):
            try:
                process = self._started(output, log, lock)
            except (OSError, FusionscopeError) as error:
                return JobStatus(
                    state="failed",
                    error=f"It could not be started: {error}.",
                    started_at=started_at,
                    ended_at=time.time(),
                )
            os.pwrite(lock, f"{process.pid}\n".encode(), 0)
            exit_status, was_stopped = self._follow(process)
            process.end(GRACE_S)
        self._take_in()
        (self._directory / files.SCRATCH).unlink(missing_ok=True)
        self._write_owner()
        was_killed = exit_status == -signal.SIGKILL and not was_stopped
        if was_killed and self._spec.starts_again and self._n_starts < files.MOST_STARTS:
            self._write(JobStatus(state="queued", n_starts=self._n_starts))
            return None
        return self._end(exit_status, started_at, was_stopped=was_stopped)

    def _brought_home(self) -> JobStatus:
        """The end of a capture whose supervisor was killed while another user's command worked."""
        from profiler_core.jobs.service import after_interruption  # no other supervisor needs it

        left = self._directory / files.SCRATCH
        there = left.read_bytes()
        folder = there.decode("utf-8", "replace")
        self._n_starts += 1
        running = msgspec.structs.replace(
            files.read_status(self._directory), state="running", n_starts=self._n_starts
        )
        self._write(running)
        became = ""
        with self._outputs() as (output, log):
            try:
                exit_status, _ = self._follow(
                    self._started(output, log, -1, left=os.fsdecode(there))
                )
                if exit_status:
                    became = f" What it had measured could not be brought home from {folder}."
            except (OSError, FusionscopeError) as error:
                became = f" What it had measured lies in {folder}: {error}."
        if self._take_in():
            became = " What it had measured was brought home."
        left.unlink()
        end = after_interruption(self._directory, self._spec, running)
        return msgspec.structs.replace(end, error=end.error and f"{end.error}{became}")

    def _take_in(self) -> int:
        """Of another user's command, the folders that it made; returns how many.

        That command wrote what they say of their code, folder and interpreter: it may be code of a
        person who means others to run it by a click, with their rights, or as the server's user
        where `runner_user` goes later. What was asked for is taken from the job (`vouched.py`).
        """
        if not (self._spec.runner and self._spec.out):
            return 0
        # Late: few jobs are another user's.
        from profiler_core.jobs.received import take_in
        from profiler_core.jobs.vouched import vouch

        made = self._directory / _MADE
        folders = [path for path in made.iterdir() if path.is_dir()] if made.is_dir() else []
        vouch(folders, self._spec.asked, self._spec.runner)
        experiment_id = self._spec.subject if self._spec.kind == "try" else ""
        out = Path(self._spec.out)
        return take_in(made, out, self._spec.owner, experiment_id)

    def _started(self, output: int, log: int, lock: int, left: str = "") -> Command:
        """The command, as whoever it runs as; OSError where it cannot be started."""
        progress = self._directory / files.PROGRESS
        places = {"{progress}": str(progress), "{out}": self._spec.out or ""}
        if self._spec.runner is None:
            words = [places.get(word, word) for word in self._spec.command]
            before = self._die_with_parent
            return OwnCommand(words, output=output, log=log, kept=lock, before=before)
        return OthersCommand(
            self._spec.command,
            user=self._spec.runner,
            log=log,
            progress=progress,
            made=self._directory / _MADE,
            scratch=settings().runner_directory,
            left=left,
        )

    @contextlib.contextmanager
    def _alone(self) -> Iterator[int]:
        """Until what an earlier supervisor of this job started has ended; gives a lock on that."""
        lock = os.open(self._directory / files.COMMAND, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # it was killed with its supervisor
            yield lock
        finally:
            os.close(lock)

    @contextlib.contextmanager
    def _outputs(self) -> Iterator[tuple[int, int]]:
        """Descriptors for what the command answers and for what it prints."""
        with (self._directory / files.LOG).open("a+b", buffering=0) as log:
            self._is_printing = True
            try:
                if not self._spec.answers:
                    yield log.fileno(), log.fileno()
                    return
                with (self._directory / files.ANSWER).open("wb", buffering=0) as answer:
                    yield answer.fileno(), log.fileno()
            finally:
                self._is_printing = False
                self._trim_log()

    def _trim_log(self) -> None:
        with contextlib.suppress(OSError):  # none yet; a full disk costs the log, not the work
            trim(self._directory / files.LOG, is_running=self._is_printing)

    def _stopped(self, started_at: float | None) -> JobStatus:
        """What the job is after it was told to stop.

        Ended with the machine, and not by a person, what can start again stays in the queue.
        """
        is_cancelled = (self._directory / files.CANCEL).exists()
        if self._spec.starts_again and not is_cancelled:
            return files.read_status(self._directory)
        ended = JobStatus(state="cancelled", started_at=started_at, ended_at=time.time())
        return files.cancelled(self._directory, ended)

    def _write_owner(self) -> None:
        """Say beside the runs whose they are: the job's folder may go long before them."""
        if self._has_owner or self._spec.owner is None:
            return
        folder = result_of(self._directory, self._spec)
        # By a line of progress, which may be another machine's: it names no capture of others.
        if folder is not None and folder.name not in self._there_before:
            with contextlib.suppress(OSError):  # a full disk costs the name, not the runs
                if owner_of(folder) is None:
                    write_owner(folder, self._spec.owner)
                self._has_owner = True

    def _wait_for_turn(self) -> bool:
        """Wait until the queue lets the command start; False when told to stop while waiting."""
        right = Right(self._directory, self._spec, is_first_start=self._n_starts == 0)
        shown: Waiting | None = None
        while not self._should_stop():
            waiting = self._take_turn(right)
            if waiting is None:
                return True
            if waiting != shown:
                shown = waiting
                self._write(
                    JobStatus(
                        state="queued",
                        waiting_for=waiting.text,
                        n_ahead=waiting.n_ahead,
                        n_starts=self._n_starts,
                    )
                )
            self._beat()
            # Each look reads the whole queue: the further behind, the fewer.
            time.sleep(_LOOK_EVERY_S * min(_LONGEST_PAUSE, 1 + waiting.n_ahead))
        return False

    def _take_turn(self, right: Right) -> Waiting | None:
        running = JobStatus(state="running", started_at=time.time(), n_starts=self._n_starts + 1)
        try:
            waiting = take_turn(self._directory, self._spec, running, right)
        except FusionscopeError as error:  # settings.toml is being edited
            right.lapse()
            return Waiting(error.problem)
        except OSError as error:
            right.lapse()
            return Waiting(f"Waits until its folder can be written: {error.strerror}.")
        if waiting is None:
            self._n_starts += 1
        return waiting

    def _follow(self, process: Command) -> tuple[int, bool]:
        """Wait until the command ends: its exit status, and whether it was told to stop."""
        sent: signal.Signals | None = None
        sent_at = 0.0
        while (exit_status := process.poll()) is None:
            if sent is None:
                following = self._first_signal() if self._should_stop() else None
            elif sent is not signal.SIGKILL and time.monotonic() - sent_at > GRACE_S:
                following = signal.SIGTERM if sent is signal.SIGINT else signal.SIGKILL
            else:
                following = None
            if following is not None:
                sent, sent_at = following, time.monotonic()
                process.signal(following)
            self._beat()
            time.sleep(_LOOK_EVERY_S)
        return exit_status, sent is not None

    def _end(self, exit_status: int, started_at: float, *, was_stopped: bool) -> JobStatus:
        """Finished, failed or cancelled; the command's own last word before its exit status.

        A capture of which some variants failed has finished, though its exit status is not 0:
        the runs say what became of each.
        """
        status = JobStatus(
            state="finished", started_at=started_at, ended_at=time.time(), exit_status=exit_status
        )
        latest = read_progress(self._directory / files.PROGRESS).latest
        last_word = latest.phase if latest is not None else None
        is_capture = self._spec.kind == "capture"  # each capture of an experiment says it, too
        if exit_status == 0 or (is_capture and last_word == "finished"):
            return status
        if was_stopped:
            return self._stopped(started_at)
        if last_word == "cancelled" or exit_status == _CANCELLED_STATUS:
            return files.cancelled(self._directory, status)
        error, remedy = self._why_failed(exit_status)
        return msgspec.structs.replace(status, state="failed", error=error, remedy=remedy)

    def _why_failed(self, exit_status: int) -> tuple[str, str | None]:
        """Problem and, where the command says one, remedy."""
        if self._spec.answers:
            with (self._directory / files.ANSWER).open("rb") as answer:
                record = last_record(answer.fileno())
            if isinstance(record, Failure):
                return record.problem, record.remedy
        latest = read_progress(self._directory / files.PROGRESS).latest
        if latest is not None and latest.phase == "failed" and latest.text:
            return latest.text, None
        if exit_status < 0:
            name = signal.Signals(-exit_status).name
            often = f" {self._n_starts} times" if self._n_starts > 1 else ""
            why = "possibly because memory ran out"
            return f"It was killed from outside ({name}){often}, {why}.", None
        log = (self._directory / files.LOG).read_bytes()[-4000:].decode("utf-8", "replace")
        lines = [line.strip() for line in log.splitlines() if line.strip()]
        ending = " ".join(lines[-_LINES_OF_THE_END:])
        return ending or f"It ended with exit status {exit_status} and printed nothing.", None

    def _first_signal(self) -> signal.Signals:
        """Cancelled by a person it cleans up; what starts again keeps what it was given."""
        is_cancelled = (self._directory / files.CANCEL).exists()
        return signal.SIGKILL if self._spec.starts_again and not is_cancelled else signal.SIGINT

    def _should_stop(self) -> bool:
        return self._told_to_stop or (self._directory / files.CANCEL).exists()

    def _beat(self) -> None:
        now = time.monotonic()
        if now - self._last_beat >= _BEAT_EVERY_S:
            self._last_beat = now
            (self._directory / files.HEARTBEAT).touch()
            self._write_owner()
            self._trim_log()

    def _write(self, status: JobStatus) -> None:
        """Keep the state; the end waits until the disk takes it, or this is told to stop."""
        while True:
            try:
                files.write(self._directory, status)
                return
            except OSError:
                is_end = status.state not in files.LIVE_STATES
                if is_end and self._told_to_stop:
                    raise
                if not is_end:  # it only tells what the job waits for
                    return
            self._beat()
            time.sleep(_LOOK_EVERY_S)

    def _die_with_parent(self) -> None:
        """Linux: when the supervisor dies, a capture cancels itself; what starts again is ended."""
        if sys.platform == "linux":
            number = signal.SIGKILL if self._spec.starts_again else signal.SIGTERM
            _C.prctl(_PR_SET_PDEATHSIG, number)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._told_to_stop = True


def _names_in(folder: str | None) -> frozenset[str]:
    try:
        return frozenset(path.name for path in Path(folder).iterdir()) if folder else frozenset()
    except OSError:
        return frozenset()


def main(directory: Path) -> None:
    """Leave the process that started us, then look after the job."""
    if os.fork():
        # Without the interpreter's clean-up: the lock on `alive` stays with the other process.
        os._exit(0)
    Supervisor(directory).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
