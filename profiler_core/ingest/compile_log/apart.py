"""Read large logs in another process: parsing holds Python's lock, which would freeze a server."""

import json
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import profiler_core
from profiler_core.errors import BadInput
from profiler_core.ingest.compile_log.reader import read_compile_log_files
from profiler_core.model.compilation import CompileLog

# Starting a process takes half a second; this much is read in 50 ms. Packed logs are 10 to 20
# times larger inside.
LARGE_BYTES = 2 << 20
PACKED = 16


def read_apart(
    paths: Sequence[Path], *, torch_version: str | None, asked: frozenset[str]
) -> CompileLog:
    """As `read_compile_log_files`, in a process of its own where the files are large.

    Raises:
        BadInput: a file cannot be read or is no text.
    """
    if sum(_size(path) for path in paths) < LARGE_BYTES:
        return read_compile_log_files(paths, torch_version=torch_version, asked=asked)
    words = {
        "paths": [str(path.absolute()) for path in paths],
        "torch_version": torch_version,
        "asked": sorted(asked),
    }
    done = subprocess.run(
        [sys.executable, "-m", "profiler_core.ingest.compile_log"],
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
    return pickle.loads(done.stdout)  # type: ignore[no-any-return]  # noqa: S301 - our own child's


def _size(path: Path) -> int:
    size = path.stat().st_size
    return size * PACKED if path.suffix in (".gz", ".zip") else size
