"""A snapshot's file -> its columns in the cache. Only ever run in a process of its own."""

from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.ingest.fingerprint import check_unchanged, fingerprint_in
from profiler_core.ingest.memory_snapshot import columns
from profiler_core.ingest.memory_snapshot.limits import SNAPSHOT_LIMITS, confine
from profiler_core.ingest.memory_snapshot.opcodes import REMEDY
from profiler_core.ingest.memory_snapshot.tables import settings_of, tables_of
from profiler_core.ingest.memory_snapshot.unpickle import plain_objects
from profiler_core.ingest.stream import Stream


def read_into_cache(path: Path) -> int:
    """Read the snapshot at `path` and leave its columns in the cache; the number of events.

    Confines the process that calls it: call it in one that is there for this alone.

    Raises:
        BadInput: it is no snapshot, hostile or damaged; one sentence.
    """
    folder = columns.folder_of(path)
    data = _unpacked(path)
    check_unchanged(path, fingerprint_in(folder))
    confine(len(data))
    try:
        snapshot = plain_objects(data, path.name)
        tables = tables_of(snapshot, path.name)
        columns.write(folder, tables, settings_of(snapshot))
    except MemoryError:
        raise BadInput(
            f"{path.name} needs more memory than its reading is allowed.", remedy=REMEDY
        ) from None
    except OSError as error:
        raise BadInput(
            f"The columns of {path.name} cannot be written: {error.strerror}.",
            remedy="Make room on that disk, or move FUSIONSCOPE_HOME to another one.",
        ) from error
    return tables["events"].height


def _unpacked(path: Path) -> bytes:
    stream = Stream(path, SNAPSHOT_LIMITS)
    try:
        data = b"".join(stream)
    except BadInput as error:
        raise BadInput(
            f"{path.name} unpacks to too much: {stream.n_unpacked} bytes from "
            f"{stream.bytes_read} and more to come.",
            remedy=REMEDY,
        ) from error
    if stream.damage:
        raise BadInput(f"{path.name} cannot be unpacked: {stream.damage}.", remedy=REMEDY)
    return data
