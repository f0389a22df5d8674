"""A run directory as one .zip, made while it is sent, without a copy on disk or in memory.

What is packed is also what a run is known by: the hash of its files.
"""

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

from profiler_core import run_directory as names
from profiler_core.errors import BadInput

BLOCK_BYTES = 1 << 20
PACKED = (".gz", ".zst", ".zip", ".png")  # packing these again costs time and saves nothing


class _Pipe:
    """A file that cannot seek: zipfile then writes sizes behind the data, as streams need it."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._n_bytes = 0

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        self._n_bytes += len(data)
        return len(data)

    def tell(self) -> int:
        raise OSError("a pipe has no position")  # told so, zipfile counts for itself

    def flush(self) -> None:
        pass

    def taken(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


def packed(directory: Path) -> Iterator[bytes]:
    """The .zip in pieces of about a megabyte: one folder, named as the run's directory.

    Links, hidden files and the heartbeat stay behind. The time of a file's last change is kept,
    as far as a zip can say it.

    Raises:
        BadInput: a folder of it may not be read.
    """
    pipe = _Pipe()
    with zipfile.ZipFile(cast(IO[bytes], pipe), "w") as archive:
        for path in _all_packed_files(directory):
            inside = f"{directory.name}/{path.relative_to(directory).as_posix()}"
            member = zipfile.ZipInfo.from_file(path, inside, strict_timestamps=False)
            is_packed = path.suffix in PACKED
            member.compress_type = zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED
            with path.open("rb") as source, archive.open(member, "w") as sink:
                while block := source.read(BLOCK_BYTES):
                    sink.write(block)
                    if data := pipe.taken():
                        yield data
    yield pipe.taken()


class FileMark(NamedTuple):
    """What is remembered of a file."""

    name: str  # below the run's directory
    n_bytes: int
    mtime_ns: int
    sha256: str


def file_marks(directory: Path, source: Iterable[FileMark] = ()) -> tuple[FileMark, ...]:
    """Of all files that `packed` packs; reads each of them once.

    Args:
        directory: of the run.
        source: marks of what it was just copied from: these files are not read again.

    Raises:
        BadInput: a folder of it may not be read.
    """
    copied = {mark[:3]: mark.sha256 for mark in source}
    marks = []
    for path in _all_packed_files(directory):
        stat, name = path.stat(), path.relative_to(directory).as_posix()
        seen = name, stat.st_size, stat.st_mtime_ns
        marks.append(FileMark(*seen, copied.get(seen) or sha256(path)))
    return tuple(marks)


def hash_of(marks: Iterable[FileMark]) -> str:
    """SHA-256 of the names and contents of the files, as 64 hex digits.

    Neither the directory's name nor the times of its files change it.
    """
    manifest = hashlib.sha256()
    for mark in marks:
        line = f"{len(mark.name)} {mark.name} {mark.sha256}\n"
        manifest.update(line.encode("utf-8", "surrogateescape"))
    return manifest.hexdigest()


def content_hash(directory: Path) -> str:
    """`hash_of` the files in a run directory."""
    return hash_of(file_marks(directory))


def sha256(path: Path) -> str:
    """Of a file's content, as 64 hex digits."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def packed_files(directory: Path, on_error: Callable[[OSError], None] | None = None) -> list[Path]:
    """The files that belong to a run, by name; `on_error` as for `kept_files`."""
    return sorted(path for path in kept_files(directory, on_error) if path.name != names.IMPORTED)


def _all_packed_files(directory: Path) -> list[Path]:
    """The same, refused where another user's folder hides some: half a run is none."""

    def refuse(error: OSError) -> None:
        if isinstance(error, PermissionError):
            raise BadInput(
                f"{error.filename} may not be read by this user.",
                remedy="Give this user the right to, or the folder to whoever owns the run.",
            ) from error

    return packed_files(directory, refuse)


def kept_files(
    directory: Path, on_error: Callable[[OSError], None] | None = None
) -> Iterator[Path]:
    """What is kept of a folder: no link, which may lead anywhere, and nothing that is hidden.

    Nor what has no text for a name. But the marker of an import, which stays with the folder and
    goes with no copy of the run.

    Args:
        directory: looked through with all folders in it that are not hidden.
        on_error: is told of a folder that cannot be read; None: such folders are passed over.
    """
    for parent, folders, files in os.walk(directory, onerror=on_error):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and names.is_text(name)
        )
        for name in sorted(filter(names.is_text, files)):
            path = Path(parent, name)
            is_hidden = name.startswith(".") and name != names.IMPORTED
            is_wanted = name != names.HEARTBEAT and not is_hidden
            if is_wanted and path.is_file() and not path.is_symlink():
                yield path
