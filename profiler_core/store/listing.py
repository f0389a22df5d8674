"""What a folder of runs looks like from outside, so that an unchanged one is not read again.

One `stat` of each run's folder and of its run.json, in place of resolving paths and decoding
records.
"""

import os
from pathlib import Path
from typing import NamedTuple

from profiler_core import run_directory as names


class Version(NamedTuple):
    """One state of a run.json."""

    changed_ns: int
    size: int
    inode: int


class Stamp(NamedTuple):
    """A folder at a moment: its own times, and those of each folder in it."""

    changed_ns: int
    version: Version | None  # where the folder itself is a run
    runs: tuple[tuple[str, int, Version | None], ...]

    @property
    def newest_ns(self) -> int:
        """The latest of its times, nanoseconds since 1970."""
        times = [self.changed_ns, *(changed_ns for _, changed_ns, _ in self.runs)]
        versions = [self.version, *(version for _, _, version in self.runs)]
        return max([*times, *(version.changed_ns for version in versions if version is not None)])


def stamp_of(folder: Path) -> Stamp | None:
    """Changes with every run that comes or goes below the folder, and with every run.json.

    None where there is no such folder. What changes inside of a run without either, a trace that
    grows, belongs to a run that says "running"; such a folder is looked at anew each time.
    """
    path = os.fspath(folder)
    try:
        with os.scandir(path) as entries:
            runs = tuple(
                sorted((entry.name, *_times(entry.path)) for entry in entries if entry.is_dir())
            )
        return Stamp(changed_ns(path), _version(path), runs)
    except OSError:
        return None


def changed_ns(path: str | Path) -> int:
    """When it changed last, nanoseconds since 1970; 0 where nothing is.

    A copy may bring the modification time of its original; the time of change is its own.
    """
    try:
        return _changed_ns(os.stat(path))  # noqa: PTH116 - thousands of them, no Path for each
    except OSError:
        return 0


def _changed_ns(stat: os.stat_result) -> int:
    return max(stat.st_mtime_ns, stat.st_ctime_ns)


def _times(path: str) -> tuple[int, Version | None]:
    return changed_ns(path), _version(path)


def _version(path: str) -> Version | None:
    try:
        stat = os.stat(f"{path}/{names.RUN_JSON}")  # noqa: PTH116
    except OSError:
        return None
    return Version(_changed_ns(stat), stat.st_size, stat.st_ino)
