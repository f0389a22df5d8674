"""run.json of a library entry: decoded once per version, and never an exception.

A file in the library may be anything (uploads are untrusted): too large, cut off, of the wrong
types, nested without end. Whatever is wrong becomes one sentence beside a record that has only
a name.
"""

import os
import socket
import time
from functools import lru_cache
from pathlib import Path

import msgspec

from profiler_core import run_directory as names
from profiler_core.model.run import RunRecord

# Raw rounds and step times of a long capture are about 100 kB; beyond this it is no run.json.
_LARGEST_BYTES = 32 * 1024 * 1024


def read_record(path: Path, *, may_be_alive: bool) -> tuple[RunRecord, str | None]:
    """The record of the run in folder `path`, and the problem if run.json is unusable.

    A run that says "running" comes back as "lost" when its process cannot be alive any more
    (design section 3); copies and uploads (`may_be_alive` False) never are.
    """
    file = path / names.RUN_JSON
    try:
        stat = file.stat()
    except OSError:
        return RunRecord(name=path.name, run_id=path.name), None
    record, problem = _decode(file, stat.st_mtime_ns, stat.st_size)
    if record is None:
        return RunRecord(name=path.name, run_id=path.name, status="failed", error=problem), problem
    if record.status == "running" and not (may_be_alive and _is_alive(path, record)):
        return msgspec.structs.replace(record, status="lost"), None
    return record, None


@lru_cache(maxsize=4096)
def _decode(file: Path, mtime_ns: int, size: int) -> tuple[RunRecord | None, str | None]:
    """Keyed by version: mtime_ns and size only retire the entry of a changed file."""
    del mtime_ns
    if size > _LARGEST_BYTES:
        return None, f"{names.RUN_JSON} is {size:,} bytes long, too large to be one."
    try:
        return msgspec.json.decode(file.read_bytes(), type=RunRecord), None
    except OSError as error:
        return None, f"{names.RUN_JSON} cannot be read: {error.strerror}."
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ValueError) as error:
        return None, f"{names.RUN_JSON} cannot be understood: {str(error)[:200]}."


def _is_alive(path: Path, record: RunRecord) -> bool:
    """A fresh heartbeat, and on this host a process that still exists."""
    try:
        beat = max((path / names.HEARTBEAT).stat().st_mtime, 0.0)
    except OSError:
        beat = (path / names.RUN_JSON).stat().st_mtime  # the first beat may be a second away
    if time.time() - beat > names.LOST_AFTER_S:
        return False
    measurement = record.measurement
    pid = (measurement.pid or 0) if measurement else 0
    if measurement is None or measurement.host != socket.gethostname() or pid <= 0:
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it exists and belongs to somebody else
        return True
    return True
