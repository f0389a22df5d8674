"""Runs of a capture that another machine did not bring to an end: readable, and failed."""

import json
from collections.abc import Sequence
from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.capture.launcher import PROGRESS, new_capture_id, write_asked_for
from profiler_core.capture.progress import ProgressLog
from profiler_core.capture.run_writer import write_json
from profiler_core.capture.runs_of import runs_of
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.versions import Version
from profiler_core.errors import FusionscopeError


def write_lost(
    spec: CaptureSpec, out: Path, lines: bytes, error: FusionscopeError,
    progress_file: Path | None = None,
) -> Path:  # fmt: skip
    """A capture's folder whose runs say why they have no numbers; returns it.

    Args:
        spec: what was asked for.
        out: where it is made.
        lines: of progress, as far as they came.
        error: problem and remedy.
        progress_file: gets the last line of progress too.
    """
    capture_id = new_capture_id(spec)
    directory = out.expanduser().resolve() / capture_id
    directory.mkdir(parents=True)
    write_asked_for(directory, spec)
    (directory / PROGRESS).write_bytes(lines)
    for run in runs_of((Version("", spec, {}),), capture_id, directory, None):
        run.writer.end("failed", f"{error.problem} {error.remedy}")
    extra = () if progress_file is None else (progress_file,)
    ProgressLog((directory / PROGRESS, *extra)).say("failed", error.problem)
    return directory


def end_unfinished(folders: Sequence[Path], error: FusionscopeError) -> None:
    """Mark runs that still say that they are measured: whoever did it is gone."""
    for folder in folders:
        for file in sorted(folder.glob(f"*/{names.RUN_JSON}")):
            record = json.loads(file.read_text("utf-8"))
            if record.get("status") == "running":
                sentence = f"{error.problem} {error.remedy}"
                write_json(file, {**record, "status": "failed", "error": sentence})
                (file.parent / names.HEARTBEAT).unlink(missing_ok=True)
