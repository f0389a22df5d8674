"""The fingerprint of a file: a short key that changes whenever the content does."""

import hashlib
import os
import time
from functools import lru_cache
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.guarded_open import is_shared, open_guarded
from profiler_core.home import cache_directory
from profiler_core.ingest.kept_digests import DIGITS, keep_digest, kept_digest

# Hashing runs at 0.9 GB/s here. Of larger files the digest is kept beside the columns, for as long
# as the file does not change, so that reopening one takes no second for each GB.
_KEPT_FROM_BYTES = 64 << 20
# A change within the clock's granule may leave the same times.
_SETTLES_NS = 2_000_000_000


def fingerprint(path: Path) -> str:
    """32 hex digits for the content of the file at `path`; it is read once for each state.

    All of it counts: whoever may write a file that looks like another's, with its size, its time
    and most of its content, would else show his columns for the other's. Below `open_below` the
    path counts too: there others can put another file in its place between hashing and reading,
    and its columns would be shown for every copy of the first.

    Raises:
        OSError: the file cannot be read.
    """
    status = path.stat()
    # Of these times the latter is the system's own; the former is whatever the owner says.
    changed_ns = (status.st_mtime_ns, status.st_ctime_ns)
    content = _fingerprint(path, (status.st_dev, status.st_ino), changed_ns, status.st_size)
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - without following any link
    if not is_shared(absolute):
        return content
    return hashlib.blake2b(
        f"{content} {absolute}".encode(errors="surrogateescape"), digest_size=DIGITS // 2
    ).hexdigest()


@lru_cache(maxsize=4096)
def _fingerprint(
    path: Path, inode: tuple[int, int], changed_ns: tuple[int, int], size_bytes: int
) -> str:
    if size_bytes < _KEPT_FROM_BYTES:
        return _digest(path, size_bytes)
    state = hashlib.blake2b(repr((inode, changed_ns, size_bytes)).encode(), digest_size=16)
    kept = kept_digest(state.hexdigest())
    if kept is not None:
        return kept
    digest = _digest(path, size_bytes)
    if time.time_ns() - changed_ns[1] > _SETTLES_NS:
        keep_digest(state.hexdigest(), digest)
    return digest


def _digest(path: Path, size_bytes: int) -> str:
    digest = hashlib.blake2b(str(size_bytes).encode(), digest_size=DIGITS // 2)
    with open_guarded(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def columns_folder(path: Path, kind: str, version: int) -> Path:
    """Where in the cache the columns of a file lie, or will lie once it is read.

    Args:
        path: the file.
        kind: the folder of its kind, "traces" or "snapshots".
        version: of the columns' schema; old ones are not found any more.

    Raises:
        BadInput: there is no such file, or it cannot be read.
    """
    try:
        key = fingerprint(path)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror}.",
            remedy="Check the path and its permissions.",
        ) from error
    return cache_directory() / kind / f"v{version}-{key}"


def check_unchanged(path: Path, before: str) -> None:
    """What was just read of a file must be what its fingerprint was made of.

    Else it would be shown wherever a copy of that lies.

    Args:
        path: the file.
        before: its fingerprint before it was read.

    Raises:
        BadInput: it changed, or is gone.
    """
    try:
        if fingerprint(path) == before:
            return
    except OSError:
        pass
    raise BadInput(f"{path.name} changed while it was read.", remedy="Open it again.")


def fingerprint_in(folder: Path) -> str:
    """The fingerprint out of a folder's name, as `columns_folder` made it."""
    return folder.name.split("-")[1]
