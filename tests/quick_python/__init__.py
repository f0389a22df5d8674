"""An interpreter for the children of captures that has imported torch already.

`import torch` with Dynamo and Inductor takes six seconds of a core, and the tests start a hundred
children that do nothing else for most of their life. `quick_python` is a program that takes the
same words as `python`. It hands a child's script to a process that has imported torch (server.py),
which forks and runs it; everything else it hands to the interpreter itself.

What it cannot show stays with the real interpreter: that a child's own start works, that no process
is left (a forked one carries no environment that /proc shows), and whose process id is sampled.
"""

import fcntl
import os
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Inductor first builds torch's headers and tries out the CPU's vector units, in each new cache:
# ten seconds of a core for a kernel of one line. What is tested is the capture around it;
# tests/capture/test_script.py compiles as Inductor does by itself.
QUICK_COMPILER = {
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
    "TORCHINDUCTOR_VEC_ISA_OK": "0",
}
# What is imported has read these; a child with other values gets a real interpreter.
ENVIRONMENT = {"INDUCTOR_PROVENANCE": "1", "PYTHONUNBUFFERED": "1", **QUICK_COMPILER}
STARTS_WITHIN_S = 240.0


def started(folder: Path, owner: int) -> Path:
    """The program; workers of one session share the process behind it.

    Args:
        folder: where it is written, the same for all of them.
        owner: the process with whose end that of the server comes.
    """
    program = folder / "python"
    if not hasattr(os, "pidfd_open"):  # not Linux
        return Path(sys.executable)
    address = f"\0fusionscope-tests-{owner}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _listens(address):
            _start(address, owner, folder / "log.txt")
        text = (HERE / "client.py").read_text(encoding="utf-8")
        program.write_text(
            f"#!{sys.executable} -IS\n"
            + text.replace("<address>", address[1:]).replace("<real>", sys.executable),
            encoding="utf-8",
        )
        program.chmod(0o755)
    return program


def variables(program: Path) -> dict[str, str]:
    """With these a process takes the program for its own interpreter, and so do its children."""
    return {**QUICK_COMPILER, "QUICK_PYTHON": str(program), "PYTHONPATH": str(HERE / "hook")}


def _start(address: str, owner: int, log: Path) -> None:
    """Start the server; its first process ends when it listens."""
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    with log.open("ab") as output:
        done = subprocess.run(
            [sys.executable, str(HERE / "server.py"), address[1:], str(owner)],
            env={**variables, **ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            timeout=STARTS_WITHIN_S,
        )
    assert done.returncode == 0, log.read_text()


def _listens(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(address) == 0
