"""A dashboard as its owner starts it, and requests as another user of the machine sends them."""

import http.client
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 240.0
COOKIE_SECRET = "of-servers-of-tests"  # where a test signs cookies itself
STREAMLIT = ("-m", "streamlit", "run", str(ROOT / "app.py"), "--server.headless=true")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True)
class Dashboard:
    port: int
    home: Path
    log: Path
    base: str = ""

    @property
    def link(self) -> str:
        """What the terminal printed."""
        (address,) = re.findall(r"http://\S+", self.log.read_text())
        return address

    def ask(self, path: str, *, method: str = "GET", **headers: str) -> Answer:
        """One request; redirects are not followed."""
        return ask(self.port, path, method=method, **headers)


def ask(port: int, path: str, *, method: str = "GET", **headers: str) -> Answer:
    connection = http.client.HTTPConnection("localhost", port, timeout=120)
    try:
        sent = {name.replace("_", "-"): text for name, text in headers.items()}
        connection.request(method, path, headers=sent)
        answer = connection.getresponse()
        named = {name.lower(): text for name, text in answer.getheaders()}
        return Answer(answer.status, named, answer.read().decode("utf-8", "replace"))
    finally:
        connection.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def dashboard(
    folder: Path,
    home: Path,
    command: Sequence[str] = STREAMLIT,
    base: str = "",
    cwd: Path | None = None,
    **environment: str,
) -> Iterator[Dashboard]:
    """It runs until the end of the block; `command` lacks only its port."""
    folder.mkdir(exist_ok=True)
    port = free_port()
    option = "--port" if "uvicorn" in command else "--server.port"
    process, log = started([*command, f"{option}={port}"], folder, home, cwd, **environment)
    try:
        wait_for(port, f"{base}/api/health", process, log)
        yield Dashboard(port, home, log, base)
    finally:
        process.terminate()
        process.wait(30)


def started(
    command: Sequence[str], folder: Path, home: Path, cwd: Path | None = None, **environment: str
) -> "tuple[subprocess.Popen[bytes], Path]":
    """A process with Python, and the file that its output goes to."""
    log = folder / "log.txt"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [environment.get("QUICK_PYTHON", sys.executable), *command],
            cwd=cwd or folder,
            env={**os.environ, "FUSIONSCOPE_HOME": str(home), **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return process, log


def wait_for(port: int, path: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            if ask(port, path).status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"not healthy within {START_TIMEOUT_S} s:\n{log.read_text()}")
