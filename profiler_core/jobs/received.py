"""What a command elsewhere sends back: its progress, then an archive of the folders that it made.

Nothing of it is trusted. Progress is bounded; of the archive only plain files and folders are
taken, never over what is there, so many and so deep as captures are, while there is room for them;
and nothing in its headers makes this process hold more than some kilobytes.
"""

import contextlib
import errno
import os
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, Self

from profiler_core.durable import bring, sync, sync_names, write_through
from profiler_core.home import TRASH
from profiler_core.jobs import directory as files
from profiler_core.jobs.room import KEEP_FREE_BYTES
from profiler_core.owner_file import FILE as OWNER_FILE
from profiler_core.owner_file import write_owner
from profiler_core.run_directory import is_text

_MOST_PROGRESS_BYTES = 50_000_000
_BLOCK_BYTES = 1 << 20
_LONGEST_LINE = 64_000
_LONGEST_LENGTH = 20  # digits of a piece's length
_MOST_MEMBERS = 200_000  # a sweep of a hundred captures has some ten thousand files
_DEEPEST = 32  # folders; what walks them calls itself for each
_KEEP_FREE_INODES = 1_000
_LONGEST_HEADER = 64_000  # bytes of a name, or of what else stands in front of a member
_OF_HEADERS = {
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
}  # fmt: skip


class Member(tarfile.TarInfo):
    """A member's header, refused where reading it would take memory without end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """As there.

        Raises:
            ReadError: so.
        """
        member = super().frombuf(buf, encoding, errors)
        is_long = member.type in _OF_HEADERS and member.size > _LONGEST_HEADER
        if is_long or member.type == tarfile.GNUTYPE_SPARSE:
            raise tarfile.ReadError("a header without end")
        return member


class _Pieces:
    """A file to read from: pieces, each behind its length, until one of 0."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._n_left = 0
        self._has_ended = False
        self.is_whole = False  # the end was said

    def read(self, size: int) -> bytes:
        """At most so many bytes; nothing at the end."""
        if not self._n_left and not self._has_ended:
            length = self._pipe.readline(_LONGEST_LENGTH)
            self._n_left = int(length) if length.strip().isdigit() else 0
            self._has_ended = not self._n_left
            self.is_whole = length == b"0\n"
        data = self._pipe.read(min(size, self._n_left))
        self._n_left -= len(data)
        self._has_ended |= not data
        return data


def is_whole(made: Path) -> bool:
    """Did all of it come, so that the other side may have deleted it?"""
    return _mark_of(made).exists()


def note_whole(made: Path) -> bool:
    """Say so, before the other side is told; False: the disk refuses, and it must not be.

    All of it is written through first: the other side deletes it then.
    """
    try:
        sync(made)
        write_through(_mark_of(made), b"")
        sync_names(made)
    except OSError:
        return False
    return True


def _mark_of(made: Path) -> Path:
    return made.with_name(f"{made.name}.whole")


class Received(NamedTuple):
    """How it went.

    is_whole: the end was said. lacks_room: the disk refused some of it. is_readable: the archive
    could be read to its end.
    """

    is_whole: bool
    lacks_room: bool
    is_readable: bool

    @property
    def is_all_here(self) -> bool:
        """Nothing of it is needed on the other side any more."""
        return self.is_whole and self.is_readable and not self.lacks_room


def receive(pipe: IO[bytes], progress: Path, made: Path) -> Received:
    """Lines of progress into the file, then the folders that were made into `made`.

    Beside the file, where the command works: that is lost with this process otherwise.
    """
    if not _follow(pipe, progress):
        return Received(False, False, False)
    lacks_room = is_readable = False
    pieces = _Pieces(pipe)
    # A hostile archive ends here; what came before is kept.
    try:
        _mark_of(made).unlink(missing_ok=True)
        shutil.rmtree(made, ignore_errors=True)  # half of it, from one that was killed
        made.mkdir()
        with (
            contextlib.suppress(tarfile.TarError, ValueError, OverflowError, RecursionError),
            tarfile.open(fileobj=pieces, mode="r|", tarinfo=Member) as archive,  # type: ignore[call-overload]
        ):
            for number, member in enumerate(archive):
                has_room = number < _MOST_MEMBERS and _has_room(made, member.size)
                is_plain = member.isreg() or member.isdir()
                is_plain &= is_text(member.name)
                if not is_plain or len(PurePosixPath(member.name).parts) > _DEEPEST:
                    continue
                if has_room:
                    archive.extract(member, made, filter="data")
                else:
                    lacks_room = True
            is_readable = True
    except OSError:  # such as a quota, which nobody sees before
        lacks_room = True
    finally:
        while pieces.read(_BLOCK_BYTES):  # whoever sends it would wait for ever, and the job too
            pass
        while not pieces.is_whole and pipe.read(_BLOCK_BYTES):
            pass
    return Received(pieces.is_whole, lacks_room, is_readable)


def _follow(pipe: IO[bytes], progress: Path) -> bool:
    """Lines into the file, until the archive comes; False: it does not."""
    n_bytes = 0
    while (line := pipe.readline(_LONGEST_LINE)) and line != b"R\n":
        n_bytes += len(line)
        with contextlib.suppress(OSError):  # a full disk costs the line, and not what follows
            if line.startswith(b"S"):
                progress.with_name(files.SCRATCH).write_bytes(line[1:].strip())
            elif line.startswith(b"P") and n_bytes < _MOST_PROGRESS_BYTES:
                with progress.open("ab", buffering=0) as file:
                    file.write(line[1:])
    return line == b"R\n"


def _has_room(made: Path, n_bytes: int) -> bool:
    """For a file of so many bytes, with some left for others; of files as of bytes."""
    about = os.statvfs(made)
    has_inodes = not about.f_files or about.f_favail > _KEEP_FREE_INODES
    return has_inodes and shutil.disk_usage(made).free - n_bytes > KEEP_FREE_BYTES


def take_in(made: Path, out: Path, owner: str | None, experiment_id: str = "") -> int:
    """Move the folders that another's command made beside the other captures, over none of them.

    Nor to where one lay that can be put back from the trash, nor to where an experiment of somebody
    else belongs, whose link names its id before it is there.

    Returns how many.

    Args:
        made: holds these folders.
        out: of all captures.
        owner: whose they are, whatever they say themselves; None: nobody's.
        experiment_id: the one experiment that may be among them; empty: none.
    """
    n_moved = 0
    for folder in sorted(made.iterdir()) if made.is_dir() else ():
        out.mkdir(parents=True, exist_ok=True)
        is_own = not folder.name.startswith("_") or folder.name[1:] == experiment_id
        is_plain = folder.is_dir() and not folder.name.startswith(".")
        if is_own and is_plain and not _is_taken(out, folder.name):
            _write_owner(folder, owner)
            _move(folder, out / folder.name)
            n_moved += 1
    shutil.rmtree(made, ignore_errors=True)
    return n_moved


def _is_taken(out: Path, name: str) -> bool:
    """Does a capture of this name lie there, or in the trash, whose way back it would bar?"""
    trash = out / TRASH
    folders = (out, *(trash.iterdir() if trash.is_dir() else ()))
    return any(os.path.lexists(folder / name) for folder in folders)


def _move(folder: Path, target: Path) -> None:
    """By a rename; between disks by a copy, which appears at once when it is whole."""
    try:
        bring(folder, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with tempfile.TemporaryDirectory(prefix=".elsewhere-", dir=target.parent) as aside:
            shutil.copytree(folder, Path(aside, folder.name), symlinks=True)
            bring(Path(aside, folder.name), target)
        shutil.rmtree(folder, ignore_errors=True)


def _write_owner(folder: Path, owner: str | None) -> None:
    claim = folder / OWNER_FILE
    if claim.is_dir():
        shutil.rmtree(claim)
    claim.unlink(missing_ok=True)
    if owner is not None:
        with contextlib.suppress(OSError):  # a full disk costs the name, not the runs
            write_owner(folder, owner)
