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
        ('"<environment>"', repr(ENVIRONMENT)),
    ):
        text = text.replace(placeholder, value)
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / f"python-{os.getpid()}"
    new.write_text(f"#!{sys.executable} -IS\n{text}", encoding="utf-8")
    new.chmod(0o755)
    new.replace(program)  # another worker may be running it
    return program


def variables(program: Path) -> dict[str, str]:
    """With these a process takes the program for its own interpreter, and so do its children."""
    return {**QUICK_COMPILER, "QUICK_PYTHON": str(program), "PYTHONPATH": str(HERE / "hook")}
