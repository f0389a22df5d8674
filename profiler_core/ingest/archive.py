"""Zip archives from untrusted sources: checked before unpacking, and unpacked within limits."""

import errno
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

from profiler_core import run_directory
from profiler_core.errors import BadInput, NotARun
from profiler_core.guarded_open import open_guarded
from profiler_core.ingest.formats import trace_endings
from profiler_core.ingest.limits import Limits

_BLOCK_BYTES = 1 << 20

# What systems and people leave in archives; never data of ours.
_IGNORED = ("__MACOSX/", ".DS_Store", "Thumbs.db")


@contextmanager
def opened(file: BinaryIO | Path, name: str, limits: Limits) -> Iterator[zipfile.ZipFile]:
    """The archive, once it is known that it stays within the limits.

    Raises:
        BadInput: it is damaged or encrypted, has paths that lead out of it, or unpacks to more
            than the limits allow.
    """
    with _as_bad_input(name):
        try:
            archive = zipfile.ZipFile(file)
        except (OSError, struct.error) as error:  # an offset in it leads before its beginning
            raise zipfile.BadZipFile(str(error)) from error
        with archive:
            _check(archive, name, limits)
            yield archive


@contextmanager
def _as_bad_input(name: str) -> Iterator[None]:
    """What unpacking raises, whatever a member is packed with; not what writing raises."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError) as error:
        raise _damaged(name, error) from error
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):
            raise
        raise _damaged(name, error) from error  # of bzip2; of a member before the beginning
    except MemoryError as error:
        raise BadInput(
            f"{name} needs more memory to be unpacked than there is.",
            remedy="Pack it again with plain zip compression.",
        ) from error
    except NotImplementedError as error:
        raise BadInput(
            f"{name} uses a compression method that is not supported: {error}.",
            remedy="Pack it again with plain zip compression.",
        ) from error


def _damaged(name: str, error: Exception) -> BadInput:
    return BadInput(f"{name} is a damaged zip archive: {error}.", remedy="Pack it again.")


def members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Its files, without folders and without what systems leave behind."""
    return [
        member
        for member in archive.infolist()
        if not member.is_dir() and not any(part in member.filename for part in _IGNORED)
    ]


def only_trace(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """The one file in it that may be a trace.

    Raises:
        NotARun: there is none, or more than one.
    """
    inside = [
        member
        for member in members(archive)
        if PurePosixPath(member.filename).name != run_directory.RUN_JSON
    ]
    named = [member for member in inside if member.filename.lower().endswith(trace_endings())]
    traces = named or inside
    if len(traces) != 1:
        raise NotARun(
            f"{name} holds {len(traces)} files that may be traces, not one.",
            remedy="Open it as a run, or pass one trace.",
        )
    return traces[0]


def unpack(file: Path, folder: Path, limits: Limits) -> None:
    """Write the files of the archive below `folder`; times and permissions are not taken over.

    Raises:
        BadInput: see `opened`.
        OSError: the disk is full.
    """
    n_bytes_left = limits.max_archive_bytes
    with open_guarded(file) as packed, opened(packed, file.name, limits) as archive:
        for member in members(archive):
            target = folder / PurePosixPath(member.filename)
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, target.open("xb") as sink:
                # Counted here too: the sizes in an archive's directory are only claims.
                while block := source.read(_BLOCK_BYTES):
                    n_bytes_left -= len(block)
                    if n_bytes_left < 0:
                        raise _too_large(file.name, limits)
                    sink.write(block)


def _check(archive: zipfile.ZipFile, name: str, limits: Limits) -> None:
    listed = archive.infolist()
    if len(listed) > limits.max_archive_members:
        raise BadInput(
            f"{name} holds {len(listed)} files, more than {limits.max_archive_members}.",
            remedy="Pack only the run.",
        )
    for member in listed:
        if not _stays_inside(member.filename) or stat.S_ISLNK(member.external_attr >> 16):
            raise BadInput(
                f"{name} holds the path {member.filename!r}, which leads out of the archive.",
                remedy="Pack the run's folder itself, with relative paths.",
            )
        if member.flag_bits & 1:
            raise BadInput(f"{name} is encrypted.", remedy="Pack it again without a password.")
    claimed = sum(member.file_size for member in listed)
    packed = sum(member.compress_size for member in listed)
    bomb = claimed > limits.ratio_counts_from_bytes and claimed > packed * limits.max_ratio
    if bomb or claimed > limits.max_archive_bytes:
        raise _too_large(name, limits)


def _too_large(name: str, limits: Limits) -> BadInput:
    return BadInput(
        f"{name} would unpack to more than {limits.max_archive_bytes} bytes, "
        f"or to more than {limits.max_ratio} times its size.",
        remedy="Pack only the run, or raise FUSIONSCOPE_MAX_TRACE_BYTES.",
    )


def _stays_inside(path: str) -> bool:
    return not (
        "\0" in path
        or path.startswith(("/", "\\"))
        or PureWindowsPath(path).drive
        or ".." in PurePosixPath(path.replace("\\", "/")).parts
    )
