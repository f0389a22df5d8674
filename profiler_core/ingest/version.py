"""Which state of a file an answer belongs to: what is computed of it is kept under this key."""

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
        choice = suffix_of(chosen(kind, fingerprint(path)))
    return Version(status.st_mtime_ns, status.st_size, choice)
