"""Which names TORCH_LOGS may have for a command: an unknown one makes `import torch` fail there."""

import shutil
from pathlib import Path

from profiler_core.capture.interpreter import probe
from profiler_core.capture.python_path import IS_PYTHON
from profiler_core.errors import CaptureFailed

# Every torch from 2.1 on knows these.
_EVERYWHERE = ("recompiles", "graph_breaks", "dynamic")
_HEAD_BYTES = 512


def known_logs(program: str, python: str | None) -> tuple[str, ...]:
    """What the interpreter behind a program takes; what every torch takes where it is not found.

    Args:
        program: the command's first word.
        python: the interpreter, where the user names it.
    """
    executable = python or python_of(program)
    if executable is None:
        return _EVERYWHERE
    try:
        return probe(executable).log_names or _EVERYWHERE
    except CaptureFailed:
        if python is not None:
            raise
        return _EVERYWHERE


def python_of(program: str) -> str | None:
    """The interpreter that runs a program: itself, or that of a script such as torchrun's."""
    path = shutil.which(program)
    if path is None:
        return None
    if IS_PYTHON.fullmatch(Path(path).name):
        return path
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD_BYTES).decode(errors="replace").splitlines()[:2]
    except OSError:
        return None
    if not head or not head[0].startswith("#!"):
        return None
    for argument in head[0].removeprefix("#!").split():
        if IS_PYTHON.fullmatch(Path(argument).name):
            return argument if Path(argument).is_absolute() else shutil.which(argument)
    # Where the path is too long for the first line, pip writes: '''exec' /path/python "$0" "$@"
    is_pips = len(head) > 1 and head[1].startswith("'''exec' ")
    arguments = head[1].replace('"', " ").split() if is_pips else []
    return next(
        (argument for argument in arguments if IS_PYTHON.fullmatch(Path(argument).name)), None
    )
