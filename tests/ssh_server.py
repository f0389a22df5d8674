"""An sshd of the tests' own: OpenSSH's, with keys of its own, on a free port of this machine.

`python -m tests.ssh_server` prints where it is, `--install` fetches it first if it must. A missing
sshd is a failure, never a skip. It lets in whoever runs the tests, by a key that nobody else has,
and a program `ssh` of the test's PATH brings the real one to it: ssh asks for no variable.
"""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.debian import CannotInstallError, install_package

_STARTS_WITHIN_S = 120
_OF_ROOT = Path("/run/sshd")  # where sshd locks itself up while nobody has signed in


class NoSshServerError(RuntimeError):
    """No sshd on this machine."""


def find() -> str:
    """The program.

    Raises:
        NoSshServerError: there is none; the message says how to get one.
    """
    program = shutil.which("sshd", path=f"/usr/sbin:{os.environ.get('PATH', '')}")
    if program is None:
        raise NoSshServerError(
            "No sshd found. Run `make sshd` as root, or install it "
            "(Debian: apt-get install openssh-server)."
        )
    return program


def install() -> str:
    """The program, after installing it where there was none."""
    try:
        return find()
    except NoSshServerError:
        install_package("openssh-server", "OpenSSH's server")
        return find()


@dataclass(frozen=True)
class SshServer:
    """A running server.

    name: what ssh calls it (`Host` of the configuration). programs: to be put on the PATH.
    known_hosts: the file in which its key stands. pid: of the process that listens.
    """

    name: str
    programs: Path
    known_hosts: Path
    host_key: str
    pid: int
    port: int

    def cut(self) -> None:
        """Cut all connections: the processes behind them end, what they started does not."""
        for pid in self._sessions():
            os.kill(pid, signal.SIGKILL)

    def _sessions(self) -> list[int]:
        """The server's children and theirs that are sshd themselves."""
        pids, parents = [], {self.pid}
        for entry in sorted(
            int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()
        ):
            try:
                name, _, rest = Path(f"/proc/{entry}/stat").read_text().rpartition(")")
            except OSError:
                continue
            if "(sshd" in name and int(rest.split()[1]) in parents:
                pids.append(entry)
                parents.add(entry)
        return pids


@contextmanager
def own_ssh_server(folder: Path, variables: Mapping[str, str]) -> Iterator[SshServer]:
    """A fresh server that listens; it ends with the block.

    Args:
        folder: for its files.
        variables: in the environment of what it starts.
    """
    program = find()
    if os.geteuid() == 0:
        _OF_ROOT.mkdir(mode=0o755, exist_ok=True)
    for name in ("host_key", "user_key"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True, timeout=60)
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    port = _free_port()
    set_env = " ".join(f'"{name}={value}"' for name, value in variables.items())
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nPidFile none\nUsePAM no\n"
        "StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        f"PermitRootLogin prohibit-password\nSetEnv {set_env}\n"
    )
    key = (folder / "host_key.pub").read_text().strip()
    known_hosts = folder / "known_hosts"
    known_hosts.write_text(f"[127.0.0.1]:{port} {key}\n")
    (folder / "ssh_config").write_text(
        f"Host box\n  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n"
        f"Host *\n  IdentityFile {folder}/user_key\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {known_hosts}\n  GlobalKnownHostsFile none\n"
        # What a careless person has there: ours must win over it.
        "  StrictHostKeyChecking no\n  LogLevel ERROR\n"
    )
    programs = folder / "bin"
    programs.mkdir()
    ssh = shutil.which("ssh")
    (programs / "ssh").write_text(f'#!/bin/sh\nexec {ssh} -F {folder}/ssh_config "$@"\n')
    (programs / "ssh").chmod(0o755)
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [program, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=log
        )
    server = SshServer("box", programs, known_hosts, key, process.pid, port)
    try:
        _wait_for(port, process, folder / "log.txt")
        yield server
    finally:
        server.cut()
        process.kill()
        process.wait()


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise NoSshServerError(log.read_text("utf-8", "replace"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    try:
        print(install() if "--install" in sys.argv[1:] else find())
    except (NoSshServerError, CannotInstallError) as error:
        sys.exit(str(error))
