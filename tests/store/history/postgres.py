"""A PostgreSQL of its own for the tests: Debian's, in a temporary folder, on a free port.

`python -m tests.store.history.postgres` prints where its programs are, `--install` fetches them
first if it must. A missing PostgreSQL is a failure, never a skip: teams keep their history in one.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.debian import CannotInstallError, install_package

_DEBIAN = Path("/usr/lib/postgresql")
_START_TIMEOUT_S = 240
# Nothing here must survive the machine: without syncing to the disk the tests take half the time.
_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")


class NoPostgresError(RuntimeError):
    """No PostgreSQL on this machine."""


def find() -> Path:
    """The folder of initdb and pg_ctl: the newest of Debian's, or of the PATH.

    Raises:
        NoPostgresError: there is none; the message says how to get one.
    """
    versions = _DEBIAN.glob("*/bin/initdb")
    newest = sorted(versions, key=lambda path: float(path.parents[1].name))
    if newest:
        return newest[-1].parent
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    raise NoPostgresError(
        "No PostgreSQL found. Run `make database` as root, "
        "or install it (Debian: apt-get install postgresql)."
    )


def install() -> Path:
    """The folder of its programs, after installing it where there was none."""
    try:
        return find()
    except NoPostgresError:
        install_package("postgresql", "PostgreSQL 13 or newer")
        return find()


class Postgres:
    """A server in a folder of its own, which may be killed and started again.

    url: of its database `postgres`.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        self._options = (*_FAST, *options)
        self._programs = find()
        self._user = _user()
        self._folder = folder
        if self._user is not None:
            shutil.chown(folder, self._user)
        self._data = folder / "data"
        words = ["-U", "postgres", "-A", "trust", "-N", "-E", "UTF8"]
        _run([self._programs / "initdb", "-D", self._data, *words], self._user, folder)
        self._port = _free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it answers; after a kill it recovers first.

        Raises:
            NoPostgresError: it does not start.
        """
        words = ["-p", self._port, "-k", self._folder, "-h", "127.0.0.1"]
        words += [word for option in self._options for word in ("-c", option)]
        until = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < until:
            # A child of ours, whom `kill` can wait for: what stays of it would keep its files.
            with (self._folder / "log.txt").open("ab") as log:
                self._process = subprocess.Popen(
                    [str(word) for word in (self._programs / "postgres", "-D", self._data, *words)],
                    user=self._user,
                    cwd=self._folder,
                    stdout=log,
                    stderr=log,
                )
            while self._process.poll() is None:
                if self._answers():
                    return
                time.sleep(0.05)
            time.sleep(0.2)  # others of a killed server still end
        raise NoPostgresError((self._folder / "log.txt").read_text("utf-8", "replace"))

    def _answers(self) -> bool:
        words = [self._programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self._port)]
        return subprocess.run(words, check=False, timeout=60).returncode == 0

    def kill(self) -> None:
        """As kill -9 does: its other processes end when they notice."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End it at once."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()


@contextmanager
def own_postgres(*options: str) -> Iterator[Postgres]:
    """A fresh server that runs; it ends with the block.

    Args:
        options: beside the usual ones, "name=value".
    """
    # Not below pytest's folder: root's is closed to the user that the server runs as.
    folder = Path(tempfile.mkdtemp(prefix="fusionscope-postgres-"))
    try:
        server = Postgres(folder, *options)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_postgres() -> Iterator[str]:
    """The URL of a fresh server's database `postgres`; the server ends with the block."""
    with own_postgres() as server:
        yield server.url


def _user() -> str | None:
    """initdb refuses root: then the user that Debian's package made, or nobody."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise NoPostgresError("PostgreSQL does not run as root, and there is no other user here.")


def _run(argv: list[object], user: str | None, folder: Path) -> None:
    words = [str(word) for word in argv]
    # To a file, not a pipe: the server that pg_ctl leaves behind would keep a pipe open.
    with (folder / "output.txt").open("wb") as output:
        done = subprocess.run(
            words, user=user, cwd=folder, stdout=output, stderr=subprocess.STDOUT, timeout=120
        )
    if done.returncode != 0:
        said = "".join(p.read_text("utf-8", "replace") for p in folder.glob("*.txt"))
        raise NoPostgresError(f"{' '.join(words)} ended with {done.returncode}:\n{said}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    try:
        print(install() if "--install" in sys.argv[1:] else find())
    except (NoPostgresError, CannotInstallError) as error:
        sys.exit(str(error))
