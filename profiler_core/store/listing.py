"""What a folder of runs looks like from outside, so that an unchanged one is not read again.

Ten thousand runs are listed at each click: one `stat` of each run's folder and of its run.json,
in place of resolving paths and decoding records.
"""

import os
from pathlib import Path

from profiler_core import run_directory as names

Stamp = tuple[object, ...]


def stamp_of(folder: Path) -> Stamp:
    """Changes with every run that comes or goes below the folder, and with every run.json.

    What changes inside of a run without either, a trace that grows, belongs to a run that says
    "running"; such a folder is looked at anew each time.
    """
    path = os.fspath(folder)
    try:
        with os.scandir(path) as entries:
            runs = tuple(
                sorted((entry.name, *_times(entry.path)) for entry in entries if entry.is_dir())
            )
        return (os.stat(path).st_mtime_ns, _version(path), runs)  # noqa: PTH116 - no Path for each
    except OSError:
        return ()


def _times(path: str) -> tuple[int, object]:
    try:
        return os.stat(path).st_mtime_ns, _version(path)  # noqa: PTH116
    except OSError:
        return 0, None


def _version(path: str) -> object:
    try:
        stat = os.stat(f"{path}/{names.RUN_JSON}")  # noqa: PTH116
    except OSError:
        return None
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)
