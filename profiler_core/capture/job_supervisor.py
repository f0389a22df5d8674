"""The process that supervises one job: `python -m profiler_core.capture.job_supervisor DIR`.

Waits for its turn, runs the command in a process group of its own, touches the heartbeat,
turns `cancel` into signals, and writes the final state. It holds the lock on `alive`; when
it is killed the kernel drops the lock and, on Linux, stops the command.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import msgspec

from profiler_core.capture import job_directory as files
from profiler_core.capture.job_directory import JobSpec, JobStatus
from profiler_core.capture.job_progress import read_progress
from profiler_core.capture.job_result import result_of
from profiler_core.owner_file import write_owner

_LOOK_EVERY_S = 0.2
_BEAT_EVERY_S = 1.0
# A capture that is told to stop frees the device and writes its runs; that takes seconds.
_GRACE_S = float(os.environ.get("FUSIONSCOPE_CANCEL_GRACE_S", "10"))
_CANCELLED_STATUS = 130  # 128 + SIGINT, what `capture` answers when it was cancelled
_PR_SET_PDEATHSIG = 1  # prctl(2)
_LINES_OF_THE_END = 5


class Supervisor:
    """One job, from its turn in the queue to its end."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._spec = files.read_spec(directory)
        self._told_to_stop = False
        self._last_beat = 0.0

    def run(self) -> None:
        """Wait for the turn, run the command, write the end."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)
        (self._directory / files.ALIVE).write_text(f"{os.getpid()}\n")  # for people and tests
        if not self._wait_for_turn():
            self._write(JobStatus(state="cancelled", ended_at=time.time()))
            return
        started_at = time.time()
        self._write(JobStatus(state="running", started_at=started_at))
        with (self._directory / files.LOG).open("ab", buffering=0) as log:
            try:
                process = subprocess.Popen(
                    self._spec.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, "PYTHONUNBUFFERED": "1"},
                    process_group=0,
                    preexec_fn=_die_with_parent,  # noqa: PLW1509 - this process has one thread
                )
            except OSError as error:
                self._write(
                    JobStatus(
                        state="failed",
                        error=f"The capture could not be started: {error}.",
                        started_at=started_at,
                        ended_at=time.time(),
                    )
                )
                return
            was_stopped = self._follow(process)
        _end_group(process.pid)
        self._write_owner()
        self._write(self._end(process.returncode, was_stopped, started_at))

    def _write_owner(self) -> None:
        """Say beside the runs whose they are: the job's folder may go long before them."""
        if self._spec.owner is None:
            return
        folder = result_of(self._directory, self._spec)
        if folder is not None:
            with contextlib.suppress(OSError):  # a full disk costs the name, not the runs
                write_owner(folder, self._spec.owner)

    def _wait_for_turn(self) -> bool:
        """Wait until no earlier job of this device is left; False when cancelled while waiting."""
        shown: str | None = None
        while not self._should_stop():
            ahead = self._job_ahead()
            if ahead is None:
                return True
            if ahead.job_id != shown:
                shown = ahead.job_id
                text = f"Waits for the capture ahead of it: {ahead.title}."
                self._write(JobStatus(state="queued", waiting_for=text))
            self._beat()
            time.sleep(_LOOK_EVERY_S)
        return False

    def _job_ahead(self) -> JobSpec | None:
        """The last job that was submitted before this one, wants its device and is not done."""
        turn = (self._spec.submitted_at, self._spec.job_id)
        ahead: JobSpec | None = None
        for directory in self._directory.parent.iterdir():
            if directory == self._directory or not (directory / files.SPEC).is_file():
                continue
            try:
                spec, status = files.read_spec(directory), files.read_status(directory)
            except (OSError, msgspec.MsgspecError):
                continue  # being deleted
            if (
                spec.device == self._spec.device
                and (spec.submitted_at, spec.job_id) < turn
                and status.state in ("queued", "running")
                and files.is_supervised(directory, spec)
                and (ahead is None or spec.submitted_at > ahead.submitted_at)
            ):
                ahead = spec
        return ahead

    def _follow(self, process: "subprocess.Popen[bytes]") -> bool:
        """Wait until the command ends; True when it was told to stop."""
        sent: signal.Signals | None = None
        sent_at = 0.0
        while process.poll() is None:
            if sent is None:
                following = signal.SIGINT if self._should_stop() else None
            elif sent is not signal.SIGKILL and time.monotonic() - sent_at > _GRACE_S:
                following = signal.SIGTERM if sent is signal.SIGINT else signal.SIGKILL
            else:
                following = None
            if following is not None:
                sent, sent_at = following, time.monotonic()
                _signal_group(process.pid, following)
            self._beat()
            time.sleep(_LOOK_EVERY_S)
        return sent is not None

    def _end(self, exit_status: int, was_stopped: bool, started_at: float) -> JobStatus:
        """Finished, failed or cancelled; the capture's own last word before its exit status.

        A capture of which some variants failed has finished, though its exit status is not 0:
        the runs say what became of each.
        """
        status = JobStatus(
            state="finished", started_at=started_at, ended_at=time.time(), exit_status=exit_status
        )
        latest = read_progress(self._directory / files.PROGRESS).latest
        last_word = latest.phase if latest is not None else None
        if exit_status == 0 or last_word == "finished":
            return status
        if was_stopped or last_word == "cancelled" or exit_status == _CANCELLED_STATUS:
            return msgspec.structs.replace(status, state="cancelled")
        return msgspec.structs.replace(status, state="failed", error=self._why_failed(exit_status))

    def _why_failed(self, exit_status: int) -> str:
        latest = read_progress(self._directory / files.PROGRESS).latest
        if latest is not None and latest.phase == "failed" and latest.text:
            return latest.text
        if exit_status < 0:
            name = signal.Signals(-exit_status).name
            return f"The capture was killed from outside ({name}), possibly because memory ran out."
        log = (self._directory / files.LOG).read_bytes()[-4000:].decode("utf-8", "replace")
        lines = [line.strip() for line in log.splitlines() if line.strip()]
        ending = " ".join(lines[-_LINES_OF_THE_END:])
        return ending or f"The capture ended with exit status {exit_status} and printed nothing."

    def _should_stop(self) -> bool:
        return self._told_to_stop or (self._directory / files.CANCEL).exists()

    def _beat(self) -> None:
        now = time.monotonic()
        if now - self._last_beat >= _BEAT_EVERY_S:
            self._last_beat = now
            (self._directory / files.HEARTBEAT).touch()

    def _write(self, status: JobStatus) -> None:
        files.write(self._directory, status)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._told_to_stop = True


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return  # ended by itself meanwhile


def _end_group(group: int) -> None:
    """What the command left behind in its group must not keep the device."""
    _signal_group(group, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    _signal_group(group, signal.SIGKILL)


def _die_with_parent() -> None:
    """Linux: SIGTERM to the command when its supervisor dies, so that it cancels itself."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def main(directory: Path) -> None:
    """Leave the process that started us, then look after the job."""
    if os.fork():
        # Without the interpreter's clean-up: the lock on `alive` stays with the other process.
        os._exit(0)
    Supervisor(directory).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
