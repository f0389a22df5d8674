"""Where an inference server writes its traces, and which of them are new."""

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

from profiler_core import run_directory as names
from profiler_core.capture.elsewhere.far_files import FarFolder, Listing
from profiler_core.capture.elsewhere.files_side import listing
from profiler_core.capture.elsewhere.host import read_address
from profiler_core.errors import BadInput
from profiler_core.ingest.formats import trace_endings
from profiler_core.ranks.remote import fetch_below, files_below, is_url

_BLOCK_BYTES = 1 << 20
_FRONT_END = ".async_llm"  # vLLM's API process, which has no device


def new_traces(before: Listing, now: Listing) -> dict[str, float]:
    """The bytes of each trace with a device that was not there before, or was another one."""
    return {
        name: about[0]
        for name, about in now.items()
        if before.get(name) != about
        and name.lower().endswith(trace_endings())
        and _FRONT_END not in name
        and not is_capture(name)
    }


def is_capture(name: str) -> bool:
    """Whether a trace is of a graph's capture, as servers name its folder."""
    return names.GRAPH_CAPTURES in PurePosixPath(name).parts[:-1]


class Folder(Protocol):
    """Where a server writes its traces."""

    def listing(self) -> Listing:
        """Its files, each with bytes and time."""
        ...

    def fetch(self, wanted: list[str], target: Path) -> None:
        """Copy these into a folder."""
        ...


@dataclass(frozen=True)
class _OwnFolder:
    path: Path

    def listing(self) -> Listing:
        return {name: (size, when) for name, (size, when) in listing(self.path).items()}

    def fetch(self, wanted: list[str], target: Path) -> None:
        for name in wanted:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            with (
                os.fdopen(_opened(self.path, name), "rb") as source,
                (target / name).open("wb") as copy,
            ):
                _copy(source, copy)


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    """As many bytes as there are now: of what grows without end, or is no file, not more.

    Raises:
        OSError: it is no plain file.
    """
    status = os.fstat(source.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "It is no plain file any more")
    n_left = status.st_size
    while block := source.read(min(_BLOCK_BYTES, n_left)):
        n_left -= target.write(block)


def _opened(folder: Path, name: str) -> int:
    """A descriptor of a file below the folder, by no link on the way.

    The server's user may put one there after the listing, which would be read as this user.

    Raises:
        OSError: there is a link, or nothing.
    """
    above = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        *parents, last = PurePosixPath(name).parts
        for part in parents:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
            os.close(above)
            above = below
        return os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=above)
    finally:
        os.close(above)


@dataclass(frozen=True)
class _RemoteFolder:
    url: str

    def listing(self) -> Listing:
        return files_below(self.url)

    def fetch(self, wanted: list[str], target: Path) -> None:
        fetch_below(self.url, wanted, target)


def folder_at(text: str) -> Folder:
    """A folder of this machine, one over ssh (`USER@HOST:DIR`), or one behind a URL.

    Raises:
        BadInput: it is none.
    """
    if is_url(text):
        return _RemoteFolder(text)
    host, colon, folder = text.partition(":")
    if colon and "/" not in host:
        return FarFolder(read_address(host), folder)
    path = Path(text).expanduser()
    if not path.is_dir():
        raise BadInput(
            f"There is no folder {path} on this machine.",
            remedy="Name the folder that the server writes to; on another machine USER@HOST:DIR.",
        )
    return _OwnFolder(path)


def put_together(fetched: Path, written: Iterable[str]) -> None:
    """Traces and `capture_traces/` in one folder, whatever was between them there."""
    for name in written:
        if "/" in name and not (fetched / Path(name).name).exists():
            (fetched / name).rename(fetched / Path(name).name)
    for folder in sorted(fetched.rglob(names.GRAPH_CAPTURES)):
        if folder.parent != fetched and not (fetched / names.GRAPH_CAPTURES).exists():
            folder.rename(fetched / names.GRAPH_CAPTURES)
