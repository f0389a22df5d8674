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
from typing import IO, Protocol

from profiler_core.jobs import directory as files
from profiler_core.jobs.room import KEEP_FREE_BYTES
from profiler_core.jobs.runner import why_not_as
from profiler_core.owner_file import FILE as OWNER_FILE
from profiler_core.owner_file import write_owner

RUNNER_SIDE = Path(__file__).with_name("runner_side.py")
# It needs nothing of ours, and the server's own interpreter may lie where only its user looks.
_PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
# A capture that is told to stop frees the device and writes its runs; that takes seconds.
GRACE_S = float(os.environ.get("FUSIONSCOPE_CANCEL_GRACE_S", "10"))
_MOST_PROGRESS_BYTES = 50_000_000
_BLOCK_BYTES = 1 << 20
_LONGEST_LINE = 64_000
_TAKEN = "taken"  # all that was sent is here; until then nothing is deleted there
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


class OthersCommand:
    """A command of another user: `runner_side` starts it, and sends what it made.

    What comes from there is that user's: progress is bounded, and of the archive only plain files
    and folders are taken, never over what is there. The process there is that user's too, and may
    obey nobody: some seconds after it was told to kill the command it counts as ended.

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
        self._process = subprocess.Popen(
            [*prefix, _PYTHON, "-I", str(RUNNER_SIDE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd="/",
            env=_plain(environment),
            process_group=0,
            user=uid,
            group=gid,
            extra_groups=groups,
        )
        self.pid = self._process.pid
        self._given_up_at: float | None = None
        order = {
            "command": list(words),
            "environment": {**environment, "PYTHONUNBUFFERED": "1", "USER": user, "LOGNAME": user},
            "directory": str(Path.cwd()),
            "scratch": str(scratch) if scratch else "",
            "left": left,
            "said": progress.stat().st_size if progress.exists() else 0,
        }
        self._say(json.dumps(order))
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        self._hears = threading.Thread(
            target=self._hear, args=(self._process.stdout, progress, made), daemon=True
        )
        self._hears.start()

    def _hear(self, pipe: IO[bytes], progress: Path, made: Path) -> None:
        _receive(pipe, progress, made)
        self._say(_TAKEN)

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
        """Have it sent by the process that runs as that user."""
        self._say(str(int(number)))
        if number is signal.SIGKILL and self._given_up_at is None:
            self._given_up_at = time.monotonic() + GRACE_S

    def end(self, grace_s: float) -> None:
        """It has ended what the command left behind."""

    def _given_up(self) -> int | None:
        """SIGKILL as an exit status, once the other process had its time to send it."""
        if self._given_up_at is None or time.monotonic() < self._given_up_at:
            return None
        with contextlib.suppress(OSError):  # what `sudo` started, only root may end
            os.killpg(self.pid, signal.SIGKILL)
        return -signal.SIGKILL

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        try:
            os.write(self._process.stdin.fileno(), line.encode() + b"\n")
        except BrokenPipeError:
            return  # it ended: its exit status and the log say why


def _identity(user: str) -> tuple[list[str], int | None, int | None, list[int] | None]:
    """What stands before the command line; user, group and groups that Popen is told."""
    if os.geteuid() != 0:
        return ["sudo", "-n", "-u", user, "--"], None, None, None
    entry = pwd.getpwnam(user)
    return [], entry.pw_uid, entry.pw_gid, os.getgrouplist(user, entry.pw_gid)


def _plain(environment: Mapping[str, str]) -> dict[str, str]:
    """For the process between: all else reaches the command by its standard input."""
    return {name: environment[name] for name in ("PATH", "LANG", "LC_ALL") if name in environment}


def _receive(pipe: IO[bytes], progress: Path, made: Path) -> None:
    """Lines of progress into the file, then the folders that were made into `made`.

    Beside the file, where the command works: that is lost with this process otherwise.
    """
    n_bytes = 0
    with progress.open("ab", buffering=0) as file:
        while (line := pipe.readline(_LONGEST_LINE)) and line != b"R\n":
            n_bytes += len(line)
            if line.startswith(b"S"):
                progress.with_name(files.SCRATCH).write_bytes(line[1:].strip())
            elif line.startswith(b"P") and n_bytes < _MOST_PROGRESS_BYTES:
                file.write(line[1:])
    if line != b"R\n":
        return
    import tarfile  # every supervisor starts with this module

    shutil.rmtree(made, ignore_errors=True)  # half of it, from one that was killed
    made.mkdir()
    # A hostile archive ends here; what came before is kept.
    try:
        with (
            contextlib.suppress(tarfile.TarError, OSError, ValueError, OverflowError),
            tarfile.open(fileobj=pipe, mode="r|") as archive,
        ):
            for member in archive:
                is_plain = member.isreg() or member.isdir()
                if is_plain and shutil.disk_usage(made).free - member.size > KEEP_FREE_BYTES:
                    archive.extract(member, made, filter="data")
    finally:
        while pipe.read(_BLOCK_BYTES):  # whoever sends it would wait for ever, and the job with it
            pass


def take_in(made: Path, out: Path, owner: str | None) -> int:
    """Move the folders that another's command made beside the other captures, over none of them.

    Returns how many.

    Args:
        made: holds these folders.
        out: of all captures.
        owner: whose they are, whatever they say themselves; None: nobody's.
    """
    n_moved = 0
    for folder in sorted(made.iterdir()) if made.is_dir() else ():
        out.mkdir(parents=True, exist_ok=True)
        if folder.is_dir() and not folder.name.startswith(".") and not (out / folder.name).exists():
            _write_owner(folder, owner)
            folder.replace(out / folder.name)
            n_moved += 1
    shutil.rmtree(made, ignore_errors=True)
    return n_moved


def _write_owner(folder: Path, owner: str | None) -> None:
    claim = folder / OWNER_FILE
    if claim.is_dir():
        shutil.rmtree(claim)
    claim.unlink(missing_ok=True)
    if owner is not None:
        with contextlib.suppress(OSError):  # a full disk costs the name, not the runs
            write_owner(folder, owner)
