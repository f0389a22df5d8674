"""What is received is on the disk before anybody is told so, and before its source goes.

A rename is seen at once, and kept over a power cut only where the file, and then the folder that
names it, were written through. Whatever comes from elsewhere goes through `bring`.
"""

import errno
import os
from pathlib import Path

_NEW_ABOVE = 3  # folders above what is brought that may have been made for it
_CANNOT = (errno.EINVAL, errno.ENOTSUP)  # a file system that writes no folder through


def bring(aside: Path, target: Path) -> None:
    """Rename a file or a folder, whole and written through, to where it is found.

    Args:
        aside: on the same disk.
        target: a file there is replaced, and an empty folder.

    Raises:
        OSError: the disk refuses, also what it seemed to have taken.
    """
    sync(aside)
    aside.replace(target)
    sync_names(target)


def move(path: Path, target: Path) -> None:
    """Rename what was written through before; that it left and came is kept.

    Raises:
        OSError: the disk refuses.
    """
    path.rename(target)
    sync_names(target)
    _sync_folder(path.parent)


def write_through(path: Path, content: bytes) -> None:
    """Write a file; its name is kept once its folder is written through, too."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Write a file through, or a folder with all in it; links are left alone."""
    if path.is_symlink() or not (path.is_dir() or path.is_file()):
        return
    if not path.is_dir():
        _sync(path)
        return
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            file = Path(folder, name)
            if file.is_file() and not file.is_symlink():
                _sync(file)
        _sync_folder(Path(folder))


def sync_names(path: Path) -> None:
    """Keep the name of a file or a folder, and of those above it that may be new."""
    for folder in list(path.absolute().parents)[:_NEW_ABOVE]:
        _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    try:
        _sync(folder)
    except PermissionError:  # one above ours, which is older than what is brought
        return
    except OSError as error:
        if error.errno not in _CANNOT:
            raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
