"""Captures that came from another machine, from their arrival to the library.

They lie in a hidden folder beside the captures, on the same disk, until they are marked and moved:

<runs>/.elsewhere-…/made/         what came
<runs>/.elsewhere-…/made.whole    there once all of it came, before the other side may delete it
<runs>/.elsewhere-…/lock          held by the process that waits for it
<runs>/.elsewhere-…/shared        of a job of Slurm: the folder in which it works

Where that process is killed in between, whoever next brings the history up to date moves them.
"""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.jobs import directory as files
from profiler_core.jobs.capture_progress import read_progress
from profiler_core.jobs.received import is_whole, take_in

PREFIX = ".elsewhere-"
SHARED_PREFIX = ".fusionscope-"
MADE = "made"
_LOCK = "lock"
_SHARED, _RUNS = "shared", "runs"
_LONGEST_PROGRESS = 50_000_000
_FORGOTTEN_AFTER_S = 7 * 24 * 3600.0  # what never came whole: it still lies on the other machine


@contextlib.contextmanager
def held(work: Path) -> Iterator[None]:
    """In the block this process looks after the folder."""
    with (work / _LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def captures_in(made: Path) -> list[Path]:
    """Of what came the captures: an experiment would be taken up by a click, with its words."""
    return sorted(path for path in made.iterdir() if path.is_dir() and path.name[0] not in "._")


def move_captures(made: Path, out: Path) -> None:
    """Move the captures of what came among all captures; what else came is deleted."""
    for other in set(made.iterdir()) - set(captures_in(made)):
        shutil.rmtree(other, ignore_errors=True)
    take_in(made, out, None)


def bring_left(out: Path) -> None:
    """Move what came whole, and whose process was killed then, among the captures.

    Args:
        out: the folder of all captures.
    """
    for work in sorted(out.glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError), _looked_after_by_nobody(work) as is_left:
            made = work / MADE
            shared = _shared_of(work)
            if is_left and shared is not None:
                if read_progress(shared / files.PROGRESS).latest_is_final:  # else the job goes on
                    move_captures(shared / _RUNS, out)
                    shutil.rmtree(shared, ignore_errors=True)
                    shutil.rmtree(work, ignore_errors=True)
            elif is_left and is_whole(made) and made.is_dir():
                folders = captures_in(made)
                if folders:
                    with_what_came_before(folders[0] / files.PROGRESS, work / files.PROGRESS)
                mark(folders)
                move_captures(made, out)
                shutil.rmtree(work, ignore_errors=True)
            elif is_left and time.time() - work.stat().st_mtime > _FORGOTTEN_AFTER_S:
                shutil.rmtree(work, ignore_errors=True)


def note_shared(work: Path, folder: Path) -> None:
    """Say in which folder a job of Slurm works, for `bring_left`."""
    (work / _SHARED).write_bytes(os.fsencode(folder))


def _shared_of(work: Path) -> Path | None:
    try:
        shared = Path(os.fsdecode((work / _SHARED).read_bytes()))
    except FileNotFoundError:
        return None
    return shared if shared.name.startswith(SHARED_PREFIX) else None  # it will be deleted


@contextlib.contextmanager
def _looked_after_by_nobody(work: Path) -> Iterator[bool]:
    descriptor = os.open(work / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_left = True
    except BlockingIOError:
        is_left = False
    try:
        yield is_left
    finally:
        os.close(descriptor)


def with_what_came_before(own: Path, all_lines: Path) -> None:
    """Let the capture's progress begin as that of its job: by that the job finds it."""
    is_read = own.is_file() and own.stat().st_size <= _LONGEST_PROGRESS
    lines = own.read_bytes() if is_read else b""
    told = all_lines.read_bytes() if all_lines.is_file() else b""  # a machine that fell silent
    before, first, _ = told.partition(lines.partition(b"\n")[0] + b"\n")
    if lines and first and before:
        aside = own.with_name(f".{own.name}")
        with contextlib.suppress(OSError):  # a full disk costs the way to it, and not the runs
            aside.write_bytes(before + lines)
            aside.replace(own)


def mark(folders: Sequence[Path]) -> None:
    """Another machine or user wrote their run.json: nothing that it names is run by a click.

    The folder is marked, which may be a run itself, and each run, which the trash moves alone.
    """
    for folder in folders:
        try:
            for marked in (folder, *(path for path in sorted(folder.iterdir()) if path.is_dir())):
                (marked / names.IMPORTED).touch()
        except OSError:  # a full disk costs what was asked for, and not the runs
            (folder / names.CAPTURE_JSON).unlink(missing_ok=True)
