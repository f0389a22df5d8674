"""Compresses the large text and pickle files of a finished run; readers accept both forms.

A structured log shrinks to a tenth, a memory snapshot to a twentieth; traces are written gzipped
in the first place. The small files stay plain, so that a person can look at them.
"""

import gzip
import shutil
from pathlib import Path

from profiler_core import run_directory as names

_LEAVE_BELOW_BYTES = 64 * 1024
_LEVEL = 6


def pack(run: Path) -> None:
    """Replace large logs, snapshots and counters by `<name>.gz`, each by atomic rename."""
    large = (run / names.MEMORY_SNAPSHOT, run / names.COUNTERS)
    for path in [*(run / names.TORCH_TRACE).glob("*.log"), *large]:
        if path.is_file() and path.stat().st_size >= _LEAVE_BELOW_BYTES:
            _gzip(path)


def _gzip(path: Path) -> None:
    packed = path.with_name(f"{path.name}.gz")
    temporary = packed.with_name(f".{packed.name}")
    # mtime=0: the same content gives the same bytes, which keeps committed samples quiet.
    with (
        path.open("rb") as plain,
        temporary.open("wb") as raw,
        gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as out,
    ):
        shutil.copyfileobj(plain, out, 1 << 20)
    temporary.replace(packed)
    path.unlink()
