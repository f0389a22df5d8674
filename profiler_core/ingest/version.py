"""Which state of a file an answer belongs to: what is computed of it is kept under this key."""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from profiler_core.ingest.fingerprint import fingerprint
from profiler_core.ingest.kinds import kind_of_trace
from profiler_core.ingest.options import chosen, suffix_of


class Version(NamedTuple):
    """Differs wherever the same path may give another answer."""

    mtime_ns: int
    size_bytes: int
    choice: str  # of how the file is read (`ingest/options.py`); empty for most files


def version_of(path: Path) -> Version:
    """The file's state now; microseconds for a file that was asked for before.

    Raises:
        OSError: there is no such file.
    """
    status = path.stat()
    kind = kind_of_trace(path)
    choice = ""
    if kind is not None and kind.options:
        key = _fingerprint(path, status.st_mtime_ns, status.st_size)
        choice = suffix_of(chosen(kind, key))
    return Version(status.st_mtime_ns, status.st_size, choice)


# It reads up to 64 MiB.
@lru_cache(maxsize=4096)
def _fingerprint(path: Path, mtime_ns: int, size_bytes: int) -> str:
    del mtime_ns, size_bytes
    return fingerprint(path)
