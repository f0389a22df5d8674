"""Reads a run.json, which may be anything: an uploaded one is untrusted."""

from pathlib import Path

import msgspec

from profiler_core import run_directory as names
from profiler_core.errors import NotARun
from profiler_core.guarded_open import open_guarded
from profiler_core.model.run import RunRecord, decoded_record

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
        return decoded_record(content)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ValueError) as error:
        raise NotARun(
            f"{name or file} is no record of a run: {str(error)[:200]}.", remedy=_REMEDY
        ) from error
