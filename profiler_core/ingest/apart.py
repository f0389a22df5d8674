"""Read something large in another process: parsing here would freeze a server by Python's lock.

The parent writes JSON to the child's standard input. The child answers with a pickle of what it
read, written by this package for its own parent; or with JSON of `problem` and `remedy`, and the
exit status of bad input.
"""

import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import profiler_core
from profiler_core.errors import BadInput, FusionscopeError

# Starting a process takes half a second; this much is read in 50 ms. Packed logs are 10 to 20
# times larger inside.
LARGE_BYTES = 2 << 20
PACKED = 16


def are_large(paths: Sequence[Path]) -> bool:
    """Is reading these files worth a process of its own?"""
    return sum(_size(path) for path in paths) >= LARGE_BYTES


def ask_child(module: str, words: dict[str, Any]) -> Any:
    """What `python -m module` reads.

    Raises:
        BadInput: a file cannot be read, or the process ended without an answer.
    """
    done = subprocess.run(
        [sys.executable, "-m", module],
        input=json.dumps(words).encode(),
        capture_output=True,
        # The app may be started from anywhere: the package is found where this one was.
        cwd=Path(profiler_core.__file__).resolve().parents[1],
        check=False,
    )
    if done.returncode == BadInput.exit_status:
        said = json.loads(done.stdout)
        raise BadInput(said["problem"], remedy=said["remedy"])
    if done.returncode != 0:
        raise BadInput(
            f"Reading the logs ended with status {done.returncode}.",
            remedy="Look into the server's log for the reason; the files may need more memory.",
        )
    return pickle.loads(done.stdout)  # noqa: S301 - our own child's


def answer_parent(read: Callable[[dict[str, Any]], object]) -> int:
    """The child's side: read what standard input asks for; returns the exit status."""
    try:
        found = read(json.load(sys.stdin))
    except FusionscopeError as error:
        json.dump({"problem": error.problem, "remedy": error.remedy}, sys.stdout)
        return error.exit_status
    pickle.dump(found, sys.stdout.buffer, protocol=5)
    return 0


def _size(path: Path) -> int:
    size = path.stat().st_size
    return size * PACKED if path.suffix in (".gz", ".zip") else size
