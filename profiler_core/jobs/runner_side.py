"""Runs one command as another user of the system, or on another machine; needs nothing of ours.

    python3 -I runner_side.py        (Python 3.8 on; over ssh its text is sent instead of a path)

Standard input: one JSON line with command, environment and directory, as many bytes of a packed
tar archive as it says in `n_bytes`, then the number of a signal a line (0: nobody is gone), and at
last `taken`, or `keep` where it could not be written; its end means that whoever asked is gone, as
does silence of `silent_s` seconds.
Standard output: `S` and this user's own folder in which the command works, `P` and a line of
progress, again and again, then `R` and the made folders as a tar archive, in pieces behind their
length. What the command prints goes to standard error.
The exit status is the command's; 128 and the number of a signal that ended it.

`{out}`, `{progress}` and, where something is sent, `{sent}` (its folder), `{own}` (the Python that
runs this) and `{python}` (one of at least the version that the order names) stand for what is
there. Where nobody waits any more the folder stays, and another order names it as `left`: then it
is sent, and nothing else is done.
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
from typing import Any

_LOOK_EVERY_S = 0.2
_GRACE_S = 10.0
_PROGRESS = "progress.jsonl"
_PREFIX = "fusionscope-job-"
_FAILURE = "failure.json"  # beside the made folders: why there are none
_NEWEST_MINOR = 20  # of the Pythons that are looked for
_BLOCK_BYTES = 1 << 20


def main() -> int:
    """Do what standard input asks for; returns the exit status."""
    order = json.loads(_line())
    os.umask(0o077)
    if order.get("left"):
        return _send_left(Path(order["left"]), order["said"])
    parent = str(Path(order["scratch"]).expanduser()) if order["scratch"] else None
    scratch = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    out = scratch / "runs"
    out.mkdir()
    _lock(scratch)
    _write(b"S%s\n" % os.fsencode(str(scratch)))
    if not _unpack(scratch, order.get("n_bytes", 0)):
        shutil.rmtree(str(scratch), ignore_errors=True)
        return 1
    python = _python(order.get("least_python"))
    if python is None:
        _say_too_old(out, order["least_python"])
        _send(scratch)
        return 2
    places = {"{out}": str(out), "{progress}": str(scratch / _PROGRESS)}
    if "n_bytes" in order:
        places.update({"{python}": python, "{own}": sys.executable, "{sent}": f"{scratch}/sent"})
    child = subprocess.Popen(
        [_placed(word, places) for word in order["command"]],
        stdin=subprocess.DEVNULL,
        stdout=2,
        env=_environment(order, scratch),
        # The server's own folder may be closed to this user.
        cwd=order["directory"] if os.access(order["directory"], os.X_OK) else str(scratch),
        start_new_session=True,
    )
    is_awaited = _follow(child, scratch / _PROGRESS, order.get("silent_s"))
    _signal_group(child.pid, signal.SIGTERM)  # what it left behind must not keep the device
    time.sleep(_LOOK_EVERY_S)
    _signal_group(child.pid, signal.SIGKILL)
    if is_awaited:
        _send(scratch)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _environment(order: dict[str, Any], scratch: Path) -> dict[str, str]:
    """What was sent, or on another machine that machine's own."""
    if order.get("keeps_environment"):
        return {**os.environ, **order["environment"]}
    own = {"FUSIONSCOPE_HOME": str(scratch / "home"), "HOME": str(Path("~").expanduser())}
    return {**order["environment"], **own}


def _placed(word: str, places: dict[str, str]) -> str:
    for name, value in places.items():
        word = word.replace(name, value)
    return word


def _unpack(scratch: Path, n_bytes: int) -> bool:
    """Of standard input, so many bytes, as the folder `sent`; False: they did not all come."""
    if not n_bytes:
        return True
    packed = scratch / "sent.tar.gz"
    with packed.open("wb") as file:
        while n_bytes:
            block = os.read(0, min(n_bytes, _BLOCK_BYTES))
            if not block:
                return False
            file.write(block)
            n_bytes -= len(block)
    with tarfile.open(str(packed)) as archive:
        archive.extractall(str(scratch / "sent"))  # noqa: S202 - whoever sent it runs code here
    packed.unlink()
    return True


def _python(least: list[int] | None) -> str | None:
    """This interpreter, or another on the PATH that is new enough; None: there is none."""
    if least is None or list(sys.version_info[:2]) >= least:
        return sys.executable
    minors = range(_NEWEST_MINOR, least[1] - 1, -1)
    names = (shutil.which(f"python{least[0]}.{minor}") for minor in minors)
    return next((name for name in names if name), None)


def _say_too_old(out: Path, least: list[int]) -> None:
    version = ".".join(map(str, sys.version_info[:2]))
    needed = ".".join(map(str, least))
    failure = {
        "problem": f"{sys.executable} there is Python {version}, and the measurement is led by "
        f"Python {needed} or newer, which is not on the PATH there.",
        "remedy": f"Install a Python {needed} beside it; the model keeps the environment that "
        "--python names.",
    }
    (out / _FAILURE).write_text(json.dumps(failure))


class _Pieces:
    """A file to write to: each piece goes out behind its length, and 0 says that it was all."""

    def write(self, data: bytes) -> int:
        """Send a piece."""
        sys.stdout.buffer.write(b"%d\n" % len(data))
        sys.stdout.buffer.write(data)
        return len(data)


def _send(scratch: Path) -> None:
    _write(b"R\n")
    with tarfile.open(fileobj=_Pieces(), mode="w|", bufsize=_BLOCK_BYTES) as archive:  # type: ignore[call-overload]
        archive.add(str(scratch / "runs"), arcname=".")
    _write(b"0\n")
    os.close(1)  # whoever reads sees the end of it
    line = _line()
    while line not in (b"", b"taken\n", b"keep\n"):  # late signals
        line = _line()
    if line == b"taken\n":
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


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _follow(child: subprocess.Popen[bytes], progress: Path, silent_s: float | None) -> bool:
    """Until the command ends; False: whoever asked is gone, and nobody waits for the folders."""
    n_said = 0
    gone_at: float | None = None
    heard_at = time.monotonic()
    while child.poll() is None:
        if gone_at is not None:
            time.sleep(_LOOK_EVERY_S)
            if time.monotonic() - gone_at > _GRACE_S:
                _signal_group(child.pid, signal.SIGKILL)
        elif select.select([0], [], [], _LOOK_EVERY_S)[0]:
            line = _line().strip()
            heard_at = time.monotonic()
            _signal_group(child.pid, int(line) if line else signal.SIGTERM)
            gone_at = None if line else heard_at
        elif silent_s is not None and time.monotonic() - heard_at > silent_s:
            _signal_group(child.pid, signal.SIGTERM)
            gone_at = time.monotonic()
        if gone_at is None:
            # A lost connection closes both ways, and standard input says so in the next round.
            with contextlib.suppress(BrokenPipeError):
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
    _write(b"".join(b"P" + line + b"\n" for line in whole.splitlines()))
    return n_said + len(whole)


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(OSError):  # it has ended
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main())
