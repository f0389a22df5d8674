"""An interpreter for the children of captures, and for our own modules, that has imported a lot.

`import torch` with Dynamo and Inductor takes six seconds of a core, and the tests start a hundred
children that do nothing else for most of their life; a dashboard imports for three seconds, a
reader of a trace for one. `quick_python` is a program that takes the same words as `python`. It
hands a child's script to a process that has imported torch (with_torch.py), and a module of this
checkout to one that has imported it (with_ours.py): server.py forks there. Everything else it hands
to the interpreter itself.

What it cannot show stays with the real interpreter: that a child's own start works, that no process
is left (a forked one carries no environment that /proc shows), and whose process id is sampled. A
signal reaches one of our modules, and ends the script of a capture.
"""

import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Inductor first builds torch's headers and tries out the CPU's vector units, in each new cache:
# twenty seconds of a core for a kernel of one line. What is tested is the capture around it;
# `make test-matrix` compiles as Inductor does by itself.
QUICK_COMPILER = {
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
    "TORCHINDUCTOR_VEC_ISA_OK": "0",
}
OF_COMPILER = "quick-compiler"
# What is imported has read these; a child with other values gets a real interpreter.
ENVIRONMENT = {"INDUCTOR_PROVENANCE": "1", "PYTHONUNBUFFERED": "1", **QUICK_COMPILER}


def written(folder: Path, owner: int) -> Path:
    """The program; workers of one session share the process behind it, which its first use starts.

    Args:
        folder: where it is written, the same for all of them.
        owner: the process with whose end that of the server comes.
    """
    program = folder / "python"
    if not hasattr(os, "pidfd_open"):  # not Linux
        return Path(sys.executable)
    text = (HERE / "client.py").read_text(encoding="utf-8")
    for placeholder, value in (
        ("<real>", sys.executable),
        ("<owner>", str(owner)),
        ("<server>", str(HERE / "server.py")),
        ("<folder>", str(folder)),
        ('"<environment>"', repr(environment())),
    ):
        text = text.replace(placeholder, value)
    folder.mkdir(parents=True, exist_ok=True)
    return _program(program, text)


def is_quick_compiler() -> bool:
    """Is the compiler that is set the one that keeps what it has made?"""
    return Path(os.environ.get("CXX", "")).parent.name == OF_COMPILER


def environment() -> dict[str, str]:
    """What a script needs to be forked where it inherits nothing of this process, as over ssh."""
    return {**ENVIRONMENT, **_set_compiler()}


def _set_compiler() -> dict[str, str]:
    """The server's is that of the session, even if a test without it is the first to ask for it."""
    return {"CXX": os.environ["CXX"]} if "CXX" in os.environ else {}


def _program(path: Path, text: str) -> Path:
    new = path.with_name(f"{path.name}-{os.getpid()}")
    new.write_text(f"#!{sys.executable} -IS\n{text}", encoding="utf-8")
    new.chmod(0o755)
    new.replace(path)  # another worker may be running it
    return path


def compiler(folder: Path) -> Path | None:
    """g++ that makes each library of Inductor's once for all workers; None: there is no g++.

    It takes two seconds of a core for a kernel of one line, and tests compile the same few models.

    Args:
        folder: of this session; what is made is kept in one of its folders.
    """
    folder = folder / OF_COMPILER
    real = shutil.which("g++")
    if real is None:
        return None
    text = (HERE / "compiler.py").read_text(encoding="utf-8")
    text = text.replace("<real>", real).replace("<folder>", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    return _program(folder / "g++", text)


def variables(program: Path) -> dict[str, str]:
    """With these a process takes the program for its own interpreter, and so do its children."""
    return {**QUICK_COMPILER, "QUICK_PYTHON": str(program), "PYTHONPATH": str(HERE / "hook")}
