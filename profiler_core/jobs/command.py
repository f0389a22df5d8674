"""The command of a job, as the supervisor follows and stops it: our own, or another user's."""

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from profiler_core.jobs import directory as files
from profiler_core.jobs.runner import why_not_as

RUNNER_SIDE = Path(__file__).with_name("runner_side.py")
# It needs nothing of ours, and the server's own interpreter may lie where only its user looks.
_PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
# A capture that is told to stop frees the device and writes its runs; that takes seconds.
GRACE_S = float(os.environ.get("FUSIONSCOPE_CANCEL_GRACE_S", "10"))
_BLOCK_BYTES = 1 << 20
_TAKEN = b"taken\n"  # all that was sent is here; until then nothing is deleted there
_KEEP = b"keep\n"  # it came, and not all of it could be written here
_OF_SIGNALS = 128  # added to the number of a signal in the exit status of another's command


class Command(Protocol):
    """A command that was started."""

    @property
    def pid(self) -> int:
        """Of the process that this one started."""
        ...

    def poll(self) -> int | None:
        """The exit status, minus the number of a signal; None while it runs."""
        ...

    def signal(self, number: signal.Signals) -> None:
        """Send it to the command and what it started."""
        ...

    def end(self, grace_s: float) -> None:
        """End what it left behind, once it has ended itself."""
        ...


class OwnCommand:
    """A process group of our own."""

    def __init__(
        self, words: Sequence[str], *, output: int, log: int, kept: int, before: Callable[[], None]
    ) -> None:
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=log,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            process_group=0,
            pass_fds=(kept,),
            preexec_fn=before,  # noqa: PLW1509 - the supervisor has one thread
        )
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """The exit status, minus the number of a signal; None while it runs."""
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        """Send it to the whole group."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return  # ended by itself meanwhile

    def end(self, grace_s: float) -> None:
        """What the command left behind in its group must not keep the device."""
        self.signal(signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while time.monotonic() < deadline:
            try:
                os.killpg(self.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)
        self.signal(signal.SIGKILL)


class FarCommand:
    """A command that `runner_side` starts and follows elsewhere: for another user, or over ssh.

    What comes from there is not trusted: progress is bounded, and of the archive only plain files
    and folders are taken, never over what is there. The process there may obey nobody: some
    seconds after it was told to kill the command it counts as ended.

    Args:
        transport: starts `runner_side` with this process's pipes.
        order: what it is told first; keys as that module says.
        log: the descriptor for what the command prints.
        progress: the file for its lines of progress.
        made: the folder for what it made.
        before: bytes that go in front of the order.
        sent: a packed archive that follows it.
        options: of Popen.
    """

    def __init__(
        self, transport: Sequence[str], order: Mapping[str, object], *, log: int, progress: Path,
        made: Path, before: bytes = b"", sent: Path | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self._process = subprocess.Popen(
            transport,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            process_group=0,
            **options,
        )
        self.pid = self._process.pid
        self._given_up_at: float | None = None
        self.has_answered = False  # it sent all that was made, and that is here
        self.lacks_room = False  # it sent all, and not all of it had room here
        self._log = log
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        self._hears = threading.Thread(
            target=self._hear, args=(self._process.stdout, progress, made), daemon=True
        )
        self._hears.start()
        self._write(before + json.dumps(order).encode() + b"\n")
        self._sends = threading.Thread(target=self._send, args=(sent,), daemon=True)
        self._sends.start()

    def _send(self, sent: Path | None) -> None:
        if sent is not None:
            with sent.open("rb") as file:
                while (block := file.read(_BLOCK_BYTES)) and self._write(block):
                    pass

    def _hear(self, pipe: IO[bytes], progress: Path, made: Path) -> None:
        # Late: every supervisor imports this module.
        from profiler_core.jobs.received import note_whole, receive

        received = receive(pipe, progress, made)
        self.lacks_room = received.lacks_room
        self.has_answered = received.is_whole and not received.lacks_room
        if self.lacks_room:
            with contextlib.suppress(OSError):  # the disk is full
                os.write(self._log, _no_room(progress))
        is_taken = received.is_all_here and note_whole(made)
        self._write(_TAKEN if is_taken else _KEEP)

    def poll(self) -> int | None:
        """The exit status, minus the number of a signal; None while it runs or its runs come."""
        status = self._process.poll()
        if status is None or self._hears.is_alive():
            return self._given_up()
        if _OF_SIGNALS < status <= _OF_SIGNALS + signal.SIGRTMAX:
            of_signal = _OF_SIGNALS - status
            # 130: cancelled, see `capture`
            return status if of_signal == -signal.SIGINT else of_signal
        return status

    def signal(self, number: signal.Signals) -> None:
        """Have it sent by the process that runs there."""
        if self._sends.is_alive():  # nothing runs there yet
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
            return
        self._write(b"%d\n" % number)
        if number is signal.SIGKILL and self._given_up_at is None:
            self._given_up_at = time.monotonic() + GRACE_S

    def end(self, grace_s: float) -> None:
        """It has ended what the command left behind."""

    def stay(self) -> None:
        """Say that somebody still waits."""
        if not self._sends.is_alive():
            self._write(b"0\n")

    def abandon(self) -> None:
        """Leave it: the other side ends the command when nobody speaks to it any more."""
        with contextlib.suppress(OSError):  # what `sudo` started, only root may end
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._sends.join()
        self._hears.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _given_up(self) -> int | None:
        """SIGKILL as an exit status, once the other process had its time to send it."""
        if self._given_up_at is None or time.monotonic() < self._given_up_at:
            return None
        with contextlib.suppress(OSError):  # what `sudo` started, only root may end
            os.killpg(self.pid, signal.SIGKILL)
        return -signal.SIGKILL

    def _write(self, data: bytes) -> bool:
        """Whether the other side still took it."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._process.stdin.fileno(), view) :]
        except BrokenPipeError:
            return False  # it ended: its exit status and the log say why
        return True


class OthersCommand(FarCommand):
    """A command of another user, who sends what it made.

    With `left`, the folder in which an earlier one worked, it runs no command and sends that.
    """

    def __init__(
        self, words: Sequence[str], *, user: str, log: int, progress: Path, made: Path,
        scratch: Path | None, environment: Mapping[str, str] = os.environ, left: str = "",
    ) -> None:  # fmt: skip
        reason = why_not_as(user)
        if reason is not None:
            raise OSError(reason)
        prefix, uid, gid, groups = _identity(user)
        order = {
            "command": list(words),
            "environment": {**environment, "PYTHONUNBUFFERED": "1", "USER": user, "LOGNAME": user},
            "directory": str(Path.cwd()),
            "scratch": str(scratch) if scratch else "",
            "left": left,
            "said": progress.stat().st_size if progress.exists() else 0,
        }
        super().__init__(
            [*prefix, _PYTHON, "-I", str(RUNNER_SIDE)],
            order,
            log=log,
            progress=progress,
            made=made,
            cwd="/",
            env=_plain(environment),
            user=uid,
            group=gid,
            extra_groups=groups,
        )


def _identity(user: str) -> tuple[list[str], int | None, int | None, list[int] | None]:
    """What stands before the command line; user, group and groups that Popen is told."""
    if os.geteuid() != 0:
        return ["sudo", "-n", "-u", user, "--"], None, None, None
    entry = pwd.getpwnam(user)
    return [], entry.pw_uid, entry.pw_gid, os.getgrouplist(user, entry.pw_gid)


def _plain(environment: Mapping[str, str]) -> dict[str, str]:
    """For the process between: all else reaches the command by its standard input."""
    return {name: environment[name] for name in ("PATH", "LANG", "LC_ALL") if name in environment}


def _no_room(progress: Path) -> bytes:
    """The line of the log that says where everything still lies."""
    scratch = progress.with_name(files.SCRATCH)
    where = scratch.read_bytes() if scratch.exists() else b"its folder there"
    return b"There was no room here for all that was made: it stays in %s.\n" % where
