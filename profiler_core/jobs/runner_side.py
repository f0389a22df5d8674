"""Runs one command for a job as another user of the system; standard library only, Python 3.8 on.

    python3 -I runner_side.py

Standard input: one JSON line with command, environment and directory, then the number of a signal
a line, and at last `taken`; its end means that the supervisor is gone. Standard output: `S` and
this user's own folder in which the command works, `P` and a line of progress, again and again,
then `R` and the made folders as a tar archive. What the command prints goes to standard error.
The exit status is the command's; 128 and the number of a signal that ended it.

`{out}` and `{progress}` stand for places in that folder. Where the supervisor is gone it stays,
and another order names it as `left`: then it is sent, and nothing else is done.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

_LOOK_EVERY_S = 0.2
_GRACE_S = 10.0
_PROGRESS = "progress.jsonl"
_PREFIX = "fusionscope-job-"


def main() -> int:
    """Do what standard input asks for; returns the exit status."""
    order = json.loads(_line())
    os.umask(0o077)
    if order.get("left"):
        return _send_left(Path(order["left"]), order["said"])
    scratch = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=order["scratch"] or None))
    out = scratch / "runs"
    out.mkdir()
    _lock(scratch)
    sys.stdout.buffer.write(b"S%s\n" % os.fsencode(str(scratch)))
    sys.stdout.buffer.flush()
    places = {"{out}": str(out), "{progress}": str(scratch / _PROGRESS)}
    own = {"FUSIONSCOPE_HOME": str(scratch / "home"), "HOME": str(Path("~").expanduser())}
    child = subprocess.Popen(
        [places.get(word, word) for word in order["command"]],
        stdin=subprocess.DEVNULL,
        stdout=2,
        env={**order["environment"], **own},
        # The server's own folder may be closed to this user.
        cwd=order["directory"] if os.access(order["directory"], os.X_OK) else str(scratch),
        start_new_session=True,
    )
    is_awaited = _follow(child, scratch / _PROGRESS)
    _signal_group(child.pid, signal.SIGTERM)  # what it left behind must not keep the device
    time.sleep(_LOOK_EVERY_S)
    _signal_group(child.pid, signal.SIGKILL)
    if is_awaited:
        _send(scratch)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _send(scratch: Path) -> None:
    sys.stdout.buffer.write(b"R\n")
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
        archive.add(str(scratch / "runs"), arcname=".")
    sys.stdout.buffer.flush()
    os.close(1)  # whoever reads sees the end of it
    line = _line()
    while line not in (b"", b"taken\n"):  # late signals
        line = _line()
    if line:
        shutil.rmtree(str(scratch), ignore_errors=True)


def _send_left(scratch: Path, n_said: int) -> int:
    """What a command made whose supervisor was killed, once it has ended; 1: nothing is there.

    Of its progress, what lies beyond so many bytes.
    """
    is_own = scratch.is_dir() and not scratch.is_symlink() and scratch.stat().st_uid == os.getuid()
    if not is_own or not scratch.name.startswith(_PREFIX):
        return 1
    _lock(scratch)
    _say_progress(scratch / _PROGRESS, n_said)
    _send(scratch)
    return 0


def _lock(scratch: Path) -> None:
    """Held until this process ends; waits for another one that works there."""
    descriptor = os.open(str(scratch / "lock"), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def _line() -> bytes:
    """The next line of standard input, with nothing read beyond: `select` must see the rest."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            break
        line += byte
    return line


def _follow(child: subprocess.Popen[bytes], progress: Path) -> bool:
    """Until the command ends; False: the supervisor is gone, and nobody waits for the folders."""
    n_said = 0
    gone_at: float | None = None
    while child.poll() is None:
        if gone_at is not None:
            time.sleep(_LOOK_EVERY_S)
            if time.monotonic() - gone_at > _GRACE_S:
                _signal_group(child.pid, signal.SIGKILL)
        elif select.select([0], [], [], _LOOK_EVERY_S)[0]:
            line = _line().strip()
            _signal_group(child.pid, int(line) if line else signal.SIGTERM)
            gone_at = None if line else time.monotonic()
        if gone_at is None:
            n_said = _say_progress(progress, n_said)
    if gone_at is None:
        _say_progress(progress, n_said)
    return gone_at is None


def _say_progress(progress: Path, n_said: int) -> int:
    """Hand over the whole lines beyond so many bytes; returns how many bytes are said now."""
    try:
        with progress.open("rb") as file:
            file.seek(n_said)
            new = file.read()
    except OSError:
        return n_said
    whole = new[: new.rfind(b"\n") + 1]
    for line in whole.splitlines():
        sys.stdout.buffer.write(b"P" + line + b"\n")
    sys.stdout.buffer.flush()
    return n_said + len(whole)


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(OSError):  # it has ended
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main())
