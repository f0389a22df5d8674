"""A run directory as one .zip, made while it is sent, without a copy on disk or in memory."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from profiler_core import run_directory as names

_BLOCK_BYTES = 1 << 20
_PACKED = (".gz", ".zst", ".zip", ".png")  # packing these again costs time and saves nothing


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
    """
    pipe = _Pipe()
    with zipfile.ZipFile(cast(IO[bytes], pipe), "w") as archive:
        for path in _files(directory):
            inside = f"{directory.name}/{path.relative_to(directory).as_posix()}"
            member = zipfile.ZipInfo.from_file(path, inside, strict_timestamps=False)
            is_packed = path.suffix in _PACKED
            member.compress_type = zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED
            with path.open("rb") as source, archive.open(member, "w") as sink:
                while block := source.read(_BLOCK_BYTES):
                    sink.write(block)
                    if data := pipe.taken():
                        yield data
    yield pipe.taken()


def _files(directory: Path) -> list[Path]:
    return [
        path
        for path in sorted(directory.rglob("*"))
        if path.is_file()
        and not path.is_symlink()
        and path.name != names.HEARTBEAT
        and not any(part.startswith(".") for part in path.relative_to(directory).parts)
    ]
