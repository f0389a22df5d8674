"""What is written aside and renamed once it is whole, and what a kill left of it.

Whoever writes holds a lock on it, which the kernel drops with the process, also after kill -9, and
which other hosts see on a shared disk where its file system has locks. A process id tells nothing:
it is used again, and means nobody on another host. Files of versions that held no lock, and of
hosts whose locks are not seen, go by their age: nobody writes a file for a day without a byte.
"""

import fcntl
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from profiler_core.durable import bring

_LEFT_AFTER_S = 24 * 3600.0  # since its last byte
_NAME = re.compile(r"\..+\.\d+\.[0-9a-f]{8}", re.DOTALL)
# Of earlier versions: a folder of a run, an artifact.
_FORMER_FOLDER = re.compile(r"\..+\.\d+", re.DOTALL)
_FORMER_FILE = re.compile(r"\..+\.zip\.\d+", re.DOTALL)


def aside_of(path: Path) -> Path:
    """Where it is written first: beside it, so that one rename brings it; no listing shows it."""
    return path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")


@contextmanager
def whole_file(path: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Write a file that is there, and on the disk, once the block ends, or not at all.

    Args:
        path: what it becomes; a link of that name is replaced, not followed.
        mode: the rights of the file, less the umask.
    """
    aside = aside_of(path)
    try:
        with open(aside, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as target:
            _hold(target.fileno())
            yield target
            target.flush()
            bring(aside, path)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """The folder aside, empty, to be filled and renamed to `path`; else it is gone with the block.

    Raises:
        OSError: it cannot be made.
    """
    aside = aside_of(path)
    aside.mkdir(parents=True)
    descriptor = os.open(aside, os.O_RDONLY)
    try:
        _hold(descriptor)
        yield aside
    finally:
        os.close(descriptor)
        shutil.rmtree(aside, ignore_errors=True)


def sweep(folders: Iterable[Path], now_s: float | None = None) -> int:
    """Delete what was being written in these folders when its process died; returns how many.

    Args:
        folders: looked at themselves, not below; links are not followed.
        now_s: seconds since the epoch; None: now.
    """
    now = time.time() if now_s is None else now_s
    n_swept = 0
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            hidden = [entry for entry in entries if entry.name.startswith(".")]
            for entry in hidden:
                n_swept += _swept(entry, now)
    return n_swept


def _swept(entry: os.DirEntry[str], now: float) -> bool:
    with suppress(OSError):  # renamed, or deleted by another server just now
        path, is_folder = Path(entry.path), entry.is_dir(follow_symlinks=False)
        former = _FORMER_FOLDER if is_folder else _FORMER_FILE
        if not (_NAME.fullmatch(entry.name) or former.fullmatch(entry.name)):
            return False
        if not (is_folder or entry.is_file(follow_symlinks=False)):
            return False
        if now - _last_written(path) < _LEFT_AFTER_S:
            return False
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_folder:
                shutil.rmtree(path)
            else:
                path.unlink()
        finally:
            os.close(descriptor)
        return True
    return False


def _last_written(path: Path) -> float:
    """The newest change of it and of all below; a copy takes over the times of the files."""
    newest = path.lstat().st_ctime
    for top, folders, files in os.walk(path):
        for name in (*folders, *files):
            newest = max(newest, Path(top, name).lstat().st_ctime)
    return newest


def _hold(descriptor: int) -> None:
    with suppress(OSError):  # a file system without locks: its age tells
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
