"""What captures of another user of the system were asked for, in the server's own words.

A click runs what `capture.json` names (`store/captured_here.py`), and code of that user wrote it.
The job has what was asked for, where that user can write nothing: of a folder that agrees with it
the file is written anew from there, and any other is marked as one that comes from elsewhere.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from profiler_core import run_directory as names
from profiler_core.durable import bring, write_through
from profiler_core.jobs.brought import mark

RUNNER = "runner"  # in capture.json: the user of the system that the capture ran as
_OF_ONE_FOLDER = ("schema", "capture_id")  # beside what was asked for
_SCHEMA = 1
_LARGEST_BYTES = 1 << 20


def vouch(folders: Sequence[Path], asked: Sequence[Mapping[str, Any]], runner: str) -> None:
    """Write what was asked for into these folders of captures, which only the server can write.

    Args:
        folders: that the other user's command made.
        asked: the spec of each capture that it was to make.
        runner: that user.
    """
    for folder in folders:
        spec = _spec_of(folder, asked)
        if spec is None or not _is_written(folder, spec, runner):
            mark([folder])


def _spec_of(folder: Path, asked: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The one of these that the folder says it is of."""
    file = folder / names.CAPTURE_JSON
    try:
        if folder.name.startswith("_") or file.stat().st_size > _LARGEST_BYTES:
            return None
        content = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except (OSError, ValueError, RecursionError):
        return None
    claimed = {name: value for name, value in content.items() if name not in _OF_ONE_FOLDER}
    return next((spec for spec in asked if claimed == dict(spec)), None)


def _is_written(folder: Path, spec: Mapping[str, Any], runner: str) -> bool:
    file = folder / names.CAPTURE_JSON
    content = {"schema": _SCHEMA, "capture_id": folder.name, **spec, RUNNER: runner}
    aside = file.with_name(f".{file.name}.new")
    try:
        if aside.is_dir():
            shutil.rmtree(aside)
        write_through(aside, msgspec.json.encode(content))
        bring(aside, file)
    except OSError:  # a full disk costs what was asked for, and not the runs
        return False
    return True
