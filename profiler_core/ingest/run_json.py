"""Reads a run.json, which may be anything: an uploaded one is untrusted."""

from pathlib import Path

import msgspec

from profiler_core import run_directory as names
from profiler_core.capture.child.tolerance import (
    LARGEST,
    NOT_COMPARABLE,
    RIGHT,
    far_from_reference,
)
from profiler_core.errors import NotARun
from profiler_core.guarded_open import open_guarded
from profiler_core.model.run import Numerics, RunRecord, decoded_record

_REMEDY = "Restore it, or delete it."


def read_run_json(file: Path, name: str | None = None) -> RunRecord:
    """The record in a run.json.

    Args:
        file: where it lies.
        name: of the file in a message; None: its path.

    Raises:
        NotARun: it is larger than any record, or is no record: cut, of other types, nested without
            end.
        OSError: it cannot be read.
    """
    with open_guarded(file) as opened:
        content = opened.read(names.LARGEST_RUN_JSON_BYTES + 1)
    if len(content) > names.LARGEST_RUN_JSON_BYTES:
        raise NotARun(
            f"{name or file} has {file.stat().st_size:,} bytes, too many for a record of a run.",
            remedy=_REMEDY,
        )
    try:
        record = decoded_record(content)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ValueError) as error:
        raise NotARun(
            f"{name or file} is no record of a run: {str(error)[:200]}.", remedy=_REMEDY
        ) from error
    if record.numerics is None:
        return record
    return msgspec.structs.replace(record, numerics=_judged_anew(record.numerics))


def _judged_anew(numerics: Numerics) -> Numerics:
    """What a check says by the present rule: captures of before 2026-11-22 knew no LARGEST.

    They called right what was as far from the reference as eager, however far that was.
    """
    error, tolerance = numerics.rms_error, numerics.tolerance
    if error is None or tolerance is None or tolerance <= LARGEST:
        return numerics
    numerics = msgspec.structs.replace(numerics, tolerance=LARGEST)
    if numerics.verdict != RIGHT or error <= LARGEST:
        return numerics
    reason = far_from_reference("a tensor", error, numerics.baseline_rms_error)
    notes = f"; {numerics.reason}" if numerics.reason else ""
    return msgspec.structs.replace(numerics, verdict=NOT_COMPARABLE, reason=reason + notes)
