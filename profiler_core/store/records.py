"""run.json of a library entry: decoded once per version, and never an exception.

A file in the library may be anything (uploads are untrusted): too large, cut off, of the wrong
types, nested without end. Whatever is wrong becomes one sentence beside a record that has only
a name.
"""

from functools import lru_cache
from pathlib import Path

import msgspec

from profiler_core import run_directory as names
from profiler_core.errors import NotARun
from profiler_core.ingest.alive import with_current_status
from profiler_core.ingest.run_json import read_run_json
from profiler_core.model.run import RunRecord

LONGEST_ERROR = 10_000  # characters, in lists of runs


def read_record(path: Path, *, may_be_alive: bool) -> tuple[RunRecord, str | None]:
    """The record of the run in folder `path`, and the problem if run.json is unusable.

    A run that says "running" comes back as "lost" when its process cannot be alive any more
    (docs/run_directory.md); copies and uploads (`may_be_alive` False) never are.
    """
    file = path / names.RUN_JSON
    try:
        stat = file.stat()
    except OSError:
        return RunRecord(name=path.name, run_id=path.name), None
    record, problem = _decode(file, stat.st_mtime_ns, stat.st_size)
    if record is None:
        return RunRecord(name=path.name, run_id=path.name, status="failed", error=problem), problem
    return with_current_status(record, path, may_be_alive=may_be_alive), None


def abridged(record: RunRecord) -> RunRecord:
    """The record without the time of each single step, with the beginning of a long error."""
    if record.error is not None:
        record = msgspec.structs.replace(record, error=record.error[:LONGEST_ERROR])
    if record.measurement is None:
        return record
    measurement = msgspec.structs.replace(
        record.measurement, step_event_ns=(), step_shapes=None, warmup_step_ns=()
    )
    return msgspec.structs.replace(record, measurement=measurement)


def full_record(path: Path, record: RunRecord) -> RunRecord:
    """What `abridged` left out, read again; as it is where that cannot be read any more."""
    full, problem = read_record(path, may_be_alive=False)
    if problem is not None or record.measurement is None or full.measurement is None:
        return record
    return msgspec.structs.replace(record, measurement=full.measurement)


@lru_cache(maxsize=64)
def _decode(file: Path, mtime_ns: int, size: int) -> tuple[RunRecord | None, str | None]:
    """Keyed by version: mtime_ns and size only retire the entry of a changed file."""
    del mtime_ns
    if not size:
        return None, f"{names.RUN_JSON} is empty."
    try:
        return read_run_json(file, names.RUN_JSON), None
    except OSError as error:
        return None, f"{names.RUN_JSON} cannot be read: {error.strerror}."
    except NotARun as error:
        return None, error.problem
