"""Which state of a file an answer belongs to: what is computed of it is kept under this key."""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from profiler_core.errors import BadInput
from profiler_core.ingest.fingerprint import fingerprint
from profiler_core.ingest.kinds import Kind, kind_of
from profiler_core.ingest.nsight_systems.choice import chosen


class Version(NamedTuple):
    """Differs wherever the same path may give another answer."""

    mtime_ns: int
    size_bytes: int
    choice: str  # of a recording's steps and process; empty for every other file


def version_of(path: Path) -> Version:
    """The file's state now; microseconds for a file that was asked for before.

    Raises:
        OSError: there is no such file.
    """
    status = path.stat()
    try:
        key = _recording(path, status.st_mtime_ns, status.st_size)
    except (BadInput, OSError):  # damaged packing, no permission: its reader says so
        key = None
    return Version(status.st_mtime_ns, status.st_size, "" if key is None else chosen(key).suffix)


def versions_of(paths: tuple[Path, ...]) -> tuple[Version, ...]:
    """`version_of` each, in their order."""
    return tuple(map(version_of, paths))


# Telling the kind unpacks a first block, and the fingerprint reads up to 64 MiB.
@lru_cache(maxsize=4096)
def _recording(path: Path, mtime_ns: int, size_bytes: int) -> str | None:
    """Under which key a choice about the file is kept; None: none can be made about it."""
    del mtime_ns, size_bytes
    return fingerprint(path) if kind_of(path) is Kind.NSIGHT_SYSTEMS else None
