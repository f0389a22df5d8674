"""A file to download, made by a verb of the command line in a process of its own.

So the file is what the command line writes, and making it holds no other session up.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import profiler_core
from profiler_core.errors import BadInput

_TIMEOUT_S = 300.0


def file_from_command(verb: str, runs: Sequence[Path], ending: str, *options: str) -> bytes:
    """The finished file. Streamlit calls this in a thread of its own, and logs what it raises.

    Raises:
        BadInput: with what the command said.
    """
    with tempfile.TemporaryDirectory(prefix=f"fusionscope-{verb}-") as folder:
        path = Path(folder, f"{verb}{ending}")
        argv = [sys.executable, "-m", "profiler_core", verb, *(str(run.resolve()) for run in runs)]
        ended = subprocess.run(
            [*argv, "-o", str(path), *options],
            cwd=Path(profiler_core.__file__).resolve().parents[1],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
        )
        if ended.returncode:
            said = ended.stderr.decode("utf-8", "replace").strip()
            raise BadInput(
                f"The {verb} was not made: {said[-400:]}",
                remedy=f"Run `{verb}` on the command line to see why.",
            )
        return path.read_bytes()


def file_name(what: str, workload: str) -> str:
    """`report-resnet50`: what it is and the workload, as far as a file's name can hold it."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(workload).name)
    return f"{what}-{kept.strip('-.')[:60] or 'comparison'}"
