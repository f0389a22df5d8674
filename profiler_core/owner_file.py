"""Whose a capture or an upload is: `owner.json` beside its runs.

It comes and goes with them, and survives the database and the list of jobs.
"""

from pathlib import Path

import msgspec

from profiler_core.durable import write_through
from profiler_core.typed import ready

FILE = "owner.json"


class _Owner(msgspec.Struct, frozen=True):
    person: str


def write_owner(folder: Path, person: str) -> None:
    """Say whose this folder of runs is; once, while nobody else sees it yet."""
    write_through(folder / FILE, msgspec.json.encode(_Owner(person)))


def owner_of(folder: Path) -> str | None:
    """Who uploaded or captured it; None: nobody wrote it down."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=ready(_Owner)).person
    except (OSError, ValueError, RecursionError):  # whoever captured may have written into it
        return None
