"""Opens the files of runs: below `open_below`, nobody else leads the server to files of its own.

Others write there, and could put a link in the place of a file or a folder while it is read. So the
way from the folder that the owner named is walked by descriptors (openat), each part without
following a link; a link is read by its own descriptor, and followed where this process's user made
it, or where it stays within those folders. Elsewhere a file is opened as any other.
"""

import errno
import os
import stat
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from profiler_core.errors import BadInput
from profiler_core.home import home_directory
from profiler_core.settings import settings, settings_file

_MOST_LINKS = 40  # as Linux has it
_CAN_WALK = hasattr(os, "O_PATH")  # Linux


def open_guarded(path: Path) -> BinaryIO:
    """A file to read; of one that others can write to, see the module.

    Raises:
        OSError: it cannot be opened, is no plain file, or a link of another user leads out of the
            folders that may be opened.
    """
    roots = shared_roots()
    return _opened(path, roots, _MOST_LINKS) if roots else path.open("rb")


def is_open_below(path: Path, roots: Collection[Path]) -> bool:
    """Whether one of the folders that the owner named opens a path, links followed.

    None opens the home of a team's server that lies in it: what is in the trash there, was received
    or was made by a job is one person's.

    Raises:
        BadInput: settings.toml cannot be used.
    """
    home = home_directory().resolve()
    is_of_home = path.is_relative_to(home) or home.is_relative_to(path)
    holding = [root for root in roots if path.is_relative_to(root)]
    if is_of_home and settings().team is not None:
        holding = [root for root in holding if not home.is_relative_to(root)]
    return bool(holding)


def is_shared(path: Path) -> bool:
    """Does it lie below a folder of `open_below`?"""
    return _root_of(path, shared_roots()) is not None


def shared_roots() -> tuple[Path, ...]:
    """The folders of `open_below`; none where this system has no descriptors of links.

    Raises:
        OSError: the settings cannot be used.
    """
    file = settings_file()
    try:
        status = file.stat()
    except FileNotFoundError:
        return ()
    return _roots(file, status.st_mtime_ns, status.st_size, status.st_ino) if _CAN_WALK else ()


@lru_cache(maxsize=4)
def _roots(_file: Path, _mtime_ns: int, _size: int, _inode: int) -> tuple[Path, ...]:
    try:
        return tuple(path.resolve() for path in settings().open_below or ())
    except BadInput as error:
        raise OSError(errno.EACCES, error.problem) from error


def _root_of(path: Path, roots: tuple[Path, ...]) -> Path | None:
    return next((root for root in roots if path.is_relative_to(root)), None)


def _opened(path: Path, roots: tuple[Path, ...], n_links: int) -> BinaryIO:
    path = Path(os.path.abspath(path))  # noqa: PTH100 - without following any link
    root = _root_of(path, roots)
    if root is None:
        return path.open("rb")
    parts = path.relative_to(root).parts
    above = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            target = _target(above, part, roots)
            if target is not None:
                if not n_links:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
                return _opened(target.joinpath(*parts[number + 1 :]), roots, n_links - 1)
            kind = os.O_NONBLOCK if is_last else os.O_DIRECTORY
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | kind
            below = os.open(part, flags, dir_fd=above)
            os.close(above)
            above = below
        if not stat.S_ISREG(os.fstat(above).st_mode):
            raise OSError(errno.EINVAL, "It is no plain file", str(path))
        file, above = os.fdopen(above, "rb"), -1
        return file
    finally:
        if above >= 0:
            os.close(above)


def _target(above: int, part: str, roots: tuple[Path, ...]) -> Path | None:
    """Where a link in an open folder leads; None: it is no link.

    Raises:
        OSError: another user made it, and it leads out of the folders.
    """
    link = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        status = os.fstat(link)
        if not stat.S_ISLNK(status.st_mode):
            return None
        folder = Path(os.readlink(f"/proc/self/fd/{above}"))  # noqa: PTH115
        text = os.readlink("", dir_fd=link)
    finally:
        os.close(link)
    target = Path(os.path.abspath(folder / text))  # noqa: PTH100
    if status.st_uid != os.geteuid() and not is_open_below(target, roots):
        raise PermissionError(
            errno.EPERM, "A link of another user leads out of the folders that may be opened", part
        )
    return target
