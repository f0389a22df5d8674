"""Whether a run that says "running" still runs (docs/run_directory.md)."""

import os
import socket
import time
from pathlib import Path

import msgspec

from profiler_core import run_directory as names
from profiler_core.model.run import RunRecord


def with_current_status(record: RunRecord, folder: Path, *, may_be_alive: bool) -> RunRecord:
    """The record, with status "lost" if it says "running" but its process has ended.

    `error` then says how many timed rounds were kept.

    Args:
        record: as run.json has it.
        folder: the run directory.
        may_be_alive: False for a copy or an upload, which nobody works at.
    """
    if record.status != "running" or (may_be_alive and _is_alive(folder, record)):
        return record
    n_rounds = len(record.measurement.rounds) if record.measurement is not None else 0
    rounds_sentence = {0: "no timed round is", 1: "one timed round is"}.get(
        n_rounds, f"{n_rounds} timed rounds are"
    )
    sentence = (
        "Its process ended without reporting, killed or by a machine failure; "
        f"{rounds_sentence} kept."
    )
    return msgspec.structs.replace(record, status="lost", error=record.error or sentence)


def _is_alive(folder: Path, record: RunRecord) -> bool:
    """A fresh heartbeat, and on this host a process that still exists."""
    try:
        beat = (folder / names.HEARTBEAT).stat().st_mtime
    except OSError:
        try:
            beat = (folder / names.RUN_JSON).stat().st_mtime  # the first beat may be a second away
        except OSError:
            return False
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
