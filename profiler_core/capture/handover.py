"""The folder through which `fusionscope run` and the Recorder in the script communicate.

Its path stands in an environment variable, which all processes of the script inherit.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

FOLDER = "FUSIONSCOPE_RECORDING"  # the variable with the folder's path
OUT = "FUSIONSCOPE_RECORD_OUT"  # the variable with the folder for runs, instead of the script's
IMPORTABLE = Path(__file__).resolve().parents[1] / "record" / "importable"  # for PYTHONPATH

_STDERR = "stderr.txt"
_TORCH_TRACE = "torch_trace"
_RUNS = "runs.jsonl"


class Handover:
    """The folder, seen from either side."""

    def __init__(self, folder: Path) -> None:
        self.stderr = folder / _STDERR  # of all processes of the script
        self.torch_trace = folder / _TORCH_TRACE
        self._runs = folder / _RUNS

    def add_run(self, directory: Path) -> None:
        """Append a run directory to the list in one write: ranks write at the same time."""
        line = json.dumps(str(directory)) + "\n"
        descriptor = os.open(str(self._runs), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(line)

    def runs(self) -> list[Path]:
        """The runs that the script made, in the order of their beginning."""
        if not self._runs.is_file():
            return []
        return [Path(json.loads(line)) for line in self._runs.read_text("utf-8").splitlines()]

    def is_own_stderr(self) -> bool:
        """Whether this process's stderr is the file `stderr`."""
        try:
            stderr_status, file_status = os.fstat(2), self.stderr.stat()
        except OSError:
            return False
        return (stderr_status.st_dev, stderr_status.st_ino) == (
            file_status.st_dev,
            file_status.st_ino,
        )


def handed_over() -> Handover | None:
    """What the `fusionscope run` around this process handed over; None without one."""
    text = os.environ.get(FOLDER)
    if not text or not Path(text).is_dir():
        return None
    return Handover(Path(text))
