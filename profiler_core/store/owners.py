"""The owner of an upload or capture, and the disk space that a person's uploads take.

`owner.json` lies beside the runs, so it comes and goes with them and survives the database.
"""

from pathlib import Path
from stat import S_ISREG

import msgspec

from profiler_core.home import uploads_directory
from profiler_core.settings import settings

FILE = "owner.json"


class _Owner(msgspec.Struct, frozen=True):
    person: str


def write_owner(folder: Path, person: str) -> None:
    """Say whose this folder of runs is; once, while nobody else sees it yet."""
    (folder / FILE).write_bytes(msgspec.json.encode(_Owner(person)))


def owner_of(folder: Path) -> str | None:
    """Who uploaded or captured it; None: nobody wrote it down."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=_Owner).person
    except (OSError, msgspec.MsgspecError):
        return None


def used_bytes(person: str) -> int:
    """What this person's uploads take; a few thousand files are counted in some 10 ms."""
    root = uploads_directory()
    folders = root.iterdir() if root.is_dir() else ()
    return sum(_size(folder) for folder in folders if owner_of(folder) == person)


def room_left(person: str) -> int | None:
    """How much this person may still upload, in bytes; None: as much as the disk holds."""
    quota = settings().upload_quota_bytes
    return None if quota is None else max(0, quota - used_bytes(person))


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            status = path.lstat()
            total += status.st_size if S_ISREG(status.st_mode) else 0
        except FileNotFoundError:  # deleted while we count
            continue
    return total
