"""The words that start `runner_side` on another machine, with its text over standard input.

A remote shell reads what ssh sends, so the command is joined as words for one, and holds nothing
of a person's but the path of an interpreter.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path

from profiler_core.capture.elsewhere.host import Address

RUNNER_SIDE = Path(__file__).resolve().parents[2] / "jobs" / "runner_side.py"
# One line without quotes of a kind, backslashes or exclamation marks: any shell takes it.
_RECEIVE = (
    'import os;f=os.fdopen(0,"rb",0,closefd=False);'
    'exec(compile(b"".join(f.read(1) for _ in range(int(f.readline()))),"sent","exec"))'
)
# What the command line says wins over ~/.ssh/config: no question that nobody would answer, no key
# of a host that nobody has looked at, and nothing of this machine that the other one could use.
SSH_OPTIONS = (
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
    "ConnectTimeout=20",
)


def starter(python: str | None) -> list[str]:
    """The words there: an interpreter that receives a script and runs it.

    Args:
        python: as `--python` has it: a file, a name, or the folder of an environment.
    """
    return [interpreter_in(python), "-I", "-c", _RECEIVE]


def sent_text(script: Path = RUNNER_SIDE) -> bytes:
    """What goes to standard input first: a script behind its length."""
    text = script.read_bytes()
    return b"%d\n%s" % (len(text), text)


def interpreter_in(python: str | None) -> str:
    """The file of an interpreter that this machine cannot look at."""
    if not python:
        return "python3"
    path = Path(python)
    return python if path.name.startswith("python") else f"{python.rstrip('/')}/bin/python"


def ssh_words(address: Address, command: Sequence[str]) -> list[str]:
    """The command line that runs words on another machine."""
    options = [word for option in SSH_OPTIONS for word in ("-o", option)]
    return ["ssh", "-T", *options, *address.words, remote_line(command)]


def remote_line(command: Sequence[str]) -> str:
    """The words for a remote shell; `~/` at the beginning stays that person's home there."""
    first, *others = command
    if first.startswith("~/"):
        quoted = f"~/{shlex.quote(first[2:])}" if first[2:] else "~/"
        return " ".join(["exec", quoted, shlex.join(others)]).rstrip()
    return f"exec {shlex.join(command)}"
