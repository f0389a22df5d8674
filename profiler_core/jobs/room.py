"""How much of the machine, or of its container, jobs may take, and what is left of it now."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from profiler_core.settings import settings

KEEP_FREE_BYTES = 1_000_000_000  # of the disk: whatever is read leaves columns beside it
_SHARE_OF_MEMORY = 0.8  # the rest is the server's
_MOST_SLOTS = 8
# Of a process that reads (docs/performance.md): 316 MB for a trace of 210 MB, 524 MB for 1 GB.
_READER_BYTES = 300_000_000
_PACKED = 16  # traces are up to so many times larger inside
_CGROUP = Path("/sys/fs/cgroup")
_MEMINFO = Path("/proc/meminfo")


@dataclass(frozen=True)
class Room:
    """What jobs may have.

    slots: jobs at once, captures apart. memory_bytes: of all their estimates together.
    memory_free_bytes, disk_free_bytes: at this moment.
    """

    slots: int
    memory_bytes: int
    memory_free_bytes: int
    disk_free_bytes: int


def room_at(directory: Path) -> Room:
    """The room there is now, by settings.toml and the machine.

    Args:
        directory: on the disk that jobs write to.

    Raises:
        BadInput: settings.toml cannot be used.
    """
    limits = settings().jobs
    total, free = _memory()
    return Room(
        slots=limits.at_once or default_slots(),
        memory_bytes=limits.memory_bytes or int(_SHARE_OF_MEMORY * total),
        memory_free_bytes=free,
        disk_free_bytes=shutil.disk_usage(directory).free,
    )


def default_slots() -> int:
    """Half of the cores, at least two: a reader keeps one busy, and at times several."""
    return max(2, min(_MOST_SLOTS, (os.cpu_count() or 1) // 2))


def needed_to_read(path: Path) -> tuple[int, int]:
    """Estimates for reading a file, or all files of a folder: bytes of memory and of disk."""
    unpacked = sum(_unpacked(inner) for inner in _files(path))
    return _READER_BYTES + unpacked // 4, unpacked // 2


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files of a folder, packed as they are."""
    try:
        return sum(inner.stat().st_size for inner in _files(path))
    except OSError:  # whoever reads it will say so
        return 0


def _files(path: Path) -> list[Path]:
    return [inner for inner in path.rglob("*") if inner.is_file()] if path.is_dir() else [path]


def _unpacked(path: Path) -> int:
    """By the first bytes: files that are received have no ending."""
    try:
        with path.open("rb") as file:
            is_packed = file.read(4)[:2] in (b"\x1f\x8b", b"PK", b"\x28\xb5")
        return path.stat().st_size * (_PACKED if is_packed else 1)
    except OSError:  # whoever reads it will say so
        return 0


def _memory() -> tuple[int, int]:
    """Bytes in all, and those that are free: the machine's or the container's, if that is less."""
    try:
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
        total, free = (1024 * int(lines[key].split()[0]) for key in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):  # no Linux
        total = free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = int((_CGROUP / "memory.max").read_text())  # "max" without a limit
        used = int((_CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return total, free
    return min(total, limit), min(free, max(0, limit - used))
