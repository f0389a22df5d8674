"""run.json of a library entry: decoded once per version, and never an exception.

A file in the library may be anything (uploads are untrusted): too large, cut off, of the wrong
types, nested without end. Whatever is wrong becomes one sentence beside a record that has only
a name.
"""

from functools import lru_cache
from pathlib import Path

import msgspec

from profiler_core import run_directory as names
from profiler_core.analysis.noise import per_step, rounds_of
from profiler_core.errors import NotARun
from profiler_core.ingest.alive import with_current_status
from profiler_core.ingest.run_json import read_run_json
from profiler_core.model.run import Measurement, RunRecord

LONGEST_ERROR = 10_000  # characters, in lists of runs
_MOST_BYTES_MEASURED = 100_000  # in lists of runs; a capture's are some thousand


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
    """The record as lists hold it, some 200 kB at the most.

    Without the time of each single step, and without what no list shows: the compiler's failure and
    the comparison of numbers. Of long texts the beginning; of a measurement that is long without
    its steps, the one or two rounds that are the median of all.
    """
    return msgspec.structs.replace(
        record,
        error=_beginning(record.error),
        error_kind=_beginning(record.error_kind),
        compile_failure=None,
        numerics=None,
        measurement=None if record.measurement is None else _listed(record.measurement),
    )


def full_record(path: Path, record: RunRecord) -> RunRecord:
    """What `abridged` left out, read again; as it is where that cannot be read any more."""
    full, problem = read_record(path, may_be_alive=False)
    if problem is not None or (record.measurement is not None and full.measurement is None):
        return record
    return msgspec.structs.replace(
        record,
        measurement=full.measurement,
        numerics=full.numerics,
        compile_failure=full.compile_failure,
    )


def _listed(measurement: Measurement) -> Measurement:
    short = msgspec.structs.replace(
        measurement, step_event_ns=(), step_shapes=None, warmup_step_ns=()
    )
    if len(msgspec.json.encode(short)) <= _MOST_BYTES_MEASURED:
        return short
    timed = sorted(rounds_of(measurement), key=per_step)
    return Measurement(rounds=tuple(timed[(len(timed) - 1) // 2 : len(timed) // 2 + 1]))


def _beginning(text: str | None) -> str | None:
    return None if text is None else text[:LONGEST_ERROR]


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
