"""The value of `--python` -> the file of an interpreter, and its environment."""

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from profiler_core.errors import CaptureFailed
from profiler_core.home import expanded, is_there

IS_PYTHON = re.compile(r"(pypy|python)[\d.]*t?(\.exe)?")  # the name of an interpreter
# Where an environment keeps its interpreter: venv and conda, and the same on Windows.
_INSIDE = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
_LONGEST_SHOWN = 300  # characters of a path
_REMEDY = "Pass --python path/to/venv/bin/python, or the folder of a virtual environment."


def python_at(text: str) -> str:
    """The absolute path of an interpreter, symbolic links kept: they are what makes a venv one.

    Args:
        text: a file, the folder of an environment, or a name on the PATH; `python3` is one as in a
            shell, whatever of that name lies in the current folder: it may be somebody else's.

    Raises:
        CaptureFailed: there is nothing to execute.
    """
    path = expanded(text.strip())
    is_name = len(path.parts) == 1
    if is_name and (IS_PYTHON.fullmatch(path.name) or not is_there(path)):
        executable = shutil.which(str(path))
        if executable is not None:
            return executable
        if not is_there(path):
            raise CaptureFailed(
                f"There is no interpreter {_shown(path)} on the PATH.", remedy=_REMEDY
            )
    if is_there(path) and path.is_dir():
        return _inside(path.absolute())
    path = path.absolute()
    if not is_there(path):
        raise CaptureFailed(_absence(path), remedy=_REMEDY)
    return str(path)


def environment_of(executable: str) -> Path | None:
    """The folder of the virtual or conda environment around an interpreter; None: it has none."""
    folder = Path(executable).parent
    for candidate in (folder.parent, folder):
        if (candidate / "pyvenv.cfg").is_file() or (candidate / "conda-meta").is_dir():
            return candidate
    return None


def activated(variables: Mapping[str, str], executable: str) -> dict[str, str]:
    """The variables as in a shell where the interpreter's environment is activated.

    Its programs come first then: a compiler or ninja that conda or pip brought.
    """
    environment = environment_of(executable)
    if environment is None:
        return dict(variables)
    before = variables.get("PATH")
    folders = [str(Path(executable).parent), *([before] if before else [])]
    name = "VIRTUAL_ENV" if (environment / "pyvenv.cfg").is_file() else "CONDA_PREFIX"
    return {**variables, "PATH": os.pathsep.join(folders), name: str(environment)}


def _inside(folder: Path) -> str:
    for name in _INSIDE:
        if (folder / name).exists():
            return str(folder / name)
    broken = [name for name in _INSIDE if (folder / name).is_symlink()]
    if broken:
        raise CaptureFailed(_absence(folder / broken[0]), remedy=_REMEDY)
    raise CaptureFailed(f"The folder {folder} holds no bin/python.", remedy=_REMEDY)


def _absence(path: Path) -> str:
    with suppress(OSError):  # longer than the system's names are, or no link
        return f"{path} is a link to {path.readlink()}, which does not exist any more."
    return f"The interpreter {_shown(path)} does not exist."


def _shown(path: Path) -> str:
    text = str(path)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
