"""Combined jobs in the cache, so that a job of thousands of ranks opens at once."""

import hashlib
import os
import tempfile
from pathlib import Path

import msgspec

from profiler_core.analysis.ranks.job import Job
from profiler_core.home import cache_directory
from profiler_core.ranks import remote
from profiler_core.ranks.find import RankFiles
from profiler_core.typed import ready

_VERSION = 14  # of the file; older ones are made anew


def cached_job(rank_files: RankFiles) -> Job | None:
    """The cached job of these files; None where there is none, or it is damaged."""
    path = cache_path(rank_files, "job")
    try:
        return (
            msgspec.msgpack.decode(path.read_bytes(), type=ready(Job)) if path is not None else None
        )
    except (OSError, msgspec.MsgspecError):
        return None


def keep_job(rank_files: RankFiles, job: Job) -> None:
    """Cache the job; not of a store that does not say whether its files changed."""
    path = cache_path(rank_files, "job")
    if path is not None:
        write(path, msgspec.msgpack.encode(job))


def cache_path(rank_files: RankFiles, ending: str) -> Path | None:
    """Where something derived from these files alone is kept.

    None for those of a store that tells neither a time nor a hash of each.
    """
    digest = hashlib.blake2b(str(_VERSION).encode(), digest_size=16)
    in_stores = remote.versions_of(
        [file.location for file in rank_files.files if remote.is_url(file.location)]
    )
    for file in rank_files.files:
        if remote.is_url(file.location):
            version = in_stores.get(file.location)
            if version is None:
                return None
        else:
            status = Path(file.location).stat()
            version = f"{status.st_size} {status.st_mtime_ns}"
        digest.update(repr((file.rank, file.location, file.name, version)).encode())
    digest.update(repr(rank_files.notes).encode())
    return cache_directory() / "ranks" / f"{digest.hexdigest()}.{ending}"


def write(path: Path, data: bytes) -> None:
    """Write a file by atomic rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(scratch).replace(path)
    finally:
        Path(scratch).unlink(missing_ok=True)
