"""Opens memory snapshots: a path becomes tables. The pickle is read by another process."""

from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.ingest.cache_limit import Hold, keep_within_limit
from profiler_core.ingest.memory_snapshot import columns
from profiler_core.ingest.memory_snapshot.opcodes import REMEDY
from profiler_core.model.memory_snapshot import MemorySnapshot
from profiler_core.worker.process import DidNotRun
from profiler_core.worker.worker import ask

MODULE = "profiler_core.ingest.memory_snapshot"
_TIME_LIMIT_S = 600.0  # of the wall clock; the process limits its processor time itself


def open_snapshot(path: Path) -> MemorySnapshot:
    """Read a snapshot, from its columns where it was read before; waits for the process.

    Raises:
        BadInput: there is no such file, or it is no snapshot, hostile or damaged.
    """
    cached = load_cached(path)
    if cached is not None:
        return cached
    _read_elsewhere(path)
    snapshot = load_cached(path)
    if snapshot is None:
        raise BadInput(f"The columns of {path.name} are gone.", remedy="Open it once more.")
    keep_within_limit()
    return snapshot


def is_cached(path: Path) -> bool:
    """Would `open_snapshot` answer at once?"""
    return columns.load(columns.folder_of(path), path.name) is not None


def load_cached(path: Path) -> MemorySnapshot | None:
    """The snapshot from its columns; None where they are absent or damaged. Reads no pickle."""
    folder = columns.folder_of(path)
    hold = Hold(folder)  # before it is read, so that nobody removes it meanwhile
    snapshot = columns.load(folder, path.name)
    if snapshot is None:
        hold.release()
    else:
        hold.until_gone(snapshot)
    return snapshot


def _read_elsewhere(path: Path) -> None:
    ended = f"{path.name} cannot be read within the limits of memory and time for a snapshot."
    try:
        ask(
            MODULE,
            str(path.absolute()),
            kind=dict[str, int],
            within_s=_TIME_LIMIT_S,
            ended=ended,
            remedy=REMEDY,
        )
    except DidNotRun as error:
        raise BadInput(ended, remedy=REMEDY) from error
