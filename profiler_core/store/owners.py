"""The disk space that a person's uploads take: as runs, on their way in, and in the trash.

What a person deleted counts until the trash is emptied: else an upload that is deleted would make
room for the next one, and the disk would be full all the same.
"""

from pathlib import Path
from stat import S_ISREG

from profiler_core.home import TRASH, uploads_directory
from profiler_core.owner_file import owner_of
from profiler_core.settings import settings


def used_bytes(person: str) -> int:
    """What this person's uploads take; a few thousand files are counted in some 10 ms."""
    root = uploads_directory()
    folders = [f for r in (root, root / ".incoming", root / TRASH) for f in _folders(r)]
    return sum(size_of(folder) for folder in folders if owner_of(folder) == person)


def room_left(person: str) -> int | None:
    """How much this person may still upload, in bytes; None: as much as the disk holds."""
    quota = settings().upload_quota_bytes
    return None if quota is None else max(0, quota - used_bytes(person))


def is_over_quota(person: str) -> bool:
    """Do this person's uploads take more than they may?"""
    quota = settings().upload_quota_bytes
    return quota is not None and used_bytes(person) > quota


def _folders(root: Path) -> tuple[Path, ...]:
    return tuple(root.iterdir()) if root.is_dir() else ()


def size_of(folder: Path) -> int:
    """Bytes of its files; one that has two names, while an upload is read, counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for path in folder.rglob("*"):
        try:
            status = path.lstat()
        except FileNotFoundError:  # deleted while we count
            continue
        if S_ISREG(status.st_mode):
            sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())
