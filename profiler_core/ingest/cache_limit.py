"""Keeps the cache of columns below its limit: the least recently used entries are removed first.

An entry is a folder `<cache>/<kind>/<name>`. Who opens it holds a shared lock on the file `used`
in it for as long as the trace lives, and touches it, so that its time says when it was last
opened. Whoever removes an entry takes that lock for itself first, and renames the folder before it
deletes: no process ever finds half an entry, and one that is in use stays. A process that dies
leaves no lock behind.
"""

import os
import shutil
import threading
import time
import uuid
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.home import cache_directory
from profiler_core.settings import settings

try:
    import fcntl
except ImportError:  # Windows, which refuses to rename a folder whose files are mapped
    fcntl = None  # type: ignore[assignment]

# Those that are made anew from a file that is still there. Unpacked archives are not among them:
# pages hold paths into them.
KINDS = ("traces", "snapshots")

_USED = "used"
_REMOVED = ".removed."
_USUAL_LIMIT_BYTES = 20 * 10**9
# A folder in the making is not touched; one that is older was left by a process that was killed.
_ABANDONED_AFTER_S = 24 * 3600
# Other processes add to the cache as well, so a sum of what this one added is not trusted for long.
_TRUSTED_FOR_S = 10.0


class Hold:
    """An entry that is in use until `release`, which is safe to call twice."""

    def __init__(self, folder: Path) -> None:
        """Take it. A folder that does not exist is held by nobody and locks nothing."""
        self._handle: int | None = None
        try:
            self._handle = os.open(folder / _USED, os.O_RDWR | os.O_CREAT, 0o644)
            os.utime(folder / _USED)
            if fcntl is not None:
                fcntl.flock(self._handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:  # absent, read-only, or being removed at this moment
            self.release()

    def release(self) -> None:
        """Nobody uses it here any more."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def until_gone(self, owner: object) -> None:
        """Release it when `owner` is collected."""
        weakref.finalize(owner, self.release)


@dataclass(frozen=True)
class _Entry:
    folder: Path
    n_bytes: int
    last_used: float


class _Room:
    """What a look at the whole cache left, less what this process has added since."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._root: Path | None = None
        self._free_bytes = 0
        self._until = 0.0

    def looked(self, root: Path, free_bytes: int) -> None:
        """Half of it is for what others add before the next look."""
        with self._lock:
            self._root, self._free_bytes = root, free_bytes // 2
            self._until = time.monotonic() + _TRUSTED_FOR_S

    def takes(self, root: Path, n_bytes: int) -> bool:
        """Whether this much fits for certain; counted as added, whatever the answer."""
        with self._lock:
            self._free_bytes -= n_bytes
            return root == self._root and self._free_bytes >= 0 and time.monotonic() < self._until


_room = _Room()


def limit_bytes(used_bytes: int) -> int:
    """`largest_cache_gb` of the settings; else 20 GB, or half of what the disk has room for.

    Args:
        used_bytes: what lies in the cache, which has room, too.
    """
    chosen = settings().largest_cache_bytes
    if chosen is not None:
        return chosen
    root = cache_directory()
    room = shutil.disk_usage(root).free + used_bytes if root.is_dir() else 2 * _USUAL_LIMIT_BYTES
    return min(_USUAL_LIMIT_BYTES, room // 2)


def cache_bytes() -> int:
    """What lies in it; looks at every file."""
    return sum(entry.n_bytes for entry in _entries(cache_directory()))


def keep_within_limit(added: Path | None = None) -> int:
    """Remove entries until the rest is small enough; call it after something was added.

    A look takes all files of the cache, 70 µs an entry: of a job of a thousand ranks it would be
    as long as the reading. What fits for certain into the room that the last look saw needs none.

    Args:
        added: the entry that is new; None looks in any case.

    Returns:
        How many bytes were freed. Entries in use stay, even if they alone exceed the limit.
    """
    root = cache_directory()
    if added is not None and _room.takes(root, _bytes_of(added)):
        return 0
    _clear_up(root)
    entries = sorted(_entries(root), key=lambda entry: entry.last_used)
    used_bytes = sum(entry.n_bytes for entry in entries)
    try:
        free_bytes = limit_bytes(used_bytes) - used_bytes
    except BadInput:  # settings that cannot be read are told where somebody looks at them
        return 0
    freed = 0
    for entry in entries:
        if free_bytes + freed >= 0:
            break
        if _remove(entry.folder):
            freed += entry.n_bytes
    _room.looked(root, free_bytes + freed)
    return freed


def _bytes_of(folder: Path) -> int:
    try:
        return sum(file.stat().st_size for file in _files(folder))
    except OSError:  # removed by another process while it was looked at
        return 0


def _entries(root: Path) -> Iterator[_Entry]:
    for folder in _folders(root):
        if folder.name.startswith("."):
            continue
        try:
            files = list(_files(folder))
            at = next((file for file in files if file.name == _USED), folder).stat().st_mtime
            n_bytes = sum(file.stat().st_size for file in files)
        except OSError:  # removed by another process while it was looked at
            continue
        yield _Entry(folder, n_bytes, at)


def _files(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """All files below a folder; a cache has thousands, and each reading of a trace asks."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            elif entry.is_file():
                yield entry


def _folders(root: Path) -> Iterator[Path]:
    for kind in KINDS:
        try:
            yield from [entry for entry in (root / kind).iterdir() if entry.is_dir()]
        except OSError:
            continue


def _remove(folder: Path) -> bool:
    """False: it is in use, or another process removes it."""
    try:
        handle = os.open(folder / _USED, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        return False
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Between opening and locking, another process may have removed it and a third made it anew.
        if not os.path.samestat(os.fstat(handle), (folder / _USED).stat()):
            return False
        aside = folder.with_name(f"{_REMOVED}{uuid.uuid4().hex}")
        folder.rename(aside)
    except OSError:
        return False
    finally:
        os.close(handle)
    shutil.rmtree(aside, ignore_errors=True)
    return True


def _clear_up(root: Path) -> None:
    """What a process that was killed left: half removed, or half written."""
    now = time.time()
    for folder in _folders(root):
        if not folder.name.startswith("."):
            continue
        try:
            abandoned = now - folder.stat().st_mtime > _ABANDONED_AFTER_S
        except OSError:
            continue
        if abandoned or folder.name.startswith(_REMOVED):
            shutil.rmtree(folder, ignore_errors=True)
