"""Digests of large files, kept in the cache for other processes: `<cache>/fingerprints/<state>`."""

import contextlib
import os
from pathlib import Path

from profiler_core.home import cache_directory

DIGITS = 32  # of a digest, hexadecimal


def kept_digest(state: str) -> str | None:
    """The digest of the file that is in this state; None: nobody kept it.

    Args:
        state: of the file, safe as a file's name; another one after each change.
    """
    try:
        text = _file(state).read_text("ascii", "replace")
    except OSError:
        return None
    return text if len(text) == DIGITS else None


def keep_digest(state: str, digest: str) -> None:
    """Keep it; a disk that takes nothing costs the next process the time."""
    file = _file(state)
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(digest, "ascii")
        aside.replace(file)


def _file(state: str) -> Path:
    return cache_directory() / "fingerprints" / state
