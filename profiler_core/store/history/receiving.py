"""Runs from elsewhere into the history: a folder, or a .zip, checked as an upload is."""

import shutil
from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.analysis.run_labels import own_name
from profiler_core.errors import BadInput, NotARun
from profiler_core.model.history import RecordedRun
from profiler_core.store import incoming, uploads
from profiler_core.store.history import places
from profiler_core.store.history.database import HistoryUnavailable
from profiler_core.store.history.query import recorded_keys
from profiler_core.store.history.recording import record
from profiler_core.store.history.trash_files import remove_directory
from profiler_core.store.records import read_record


def receive(
    path: Path, *, person: str | None = None, tags: tuple[str, ...] = ()
) -> tuple[tuple[RecordedRun, ...], tuple[str, ...]]:
    """Record the run, or all runs of a capture, at `path`.

    Args:
        path: a run directory, the folder of a capture, or a .zip (or a trace) as people send it.
        person: whose they are.
        tags: put on each of them.

    Returns:
        The runs, and a sentence for each file that is in none.

    Raises:
        NotARun: no run or trace lies there.
        BadInput: an archive is damaged or hostile, a run contradicts one that the history knows
            by the same id, or the history cannot be written.
    """
    if not path.exists():
        raise NotARun(f"{path} does not exist.", remedy="Pass a run, a capture or a .zip.")
    if not path.is_dir():
        return record_upload(_copied_in(path), person=person, tags=tags)
    recorded = [record(each, person=person, tags=tags) for each in runs_in(path)]
    return tuple(recorded), ()


def record_upload(
    upload_id: str, *, person: str | None = None, tags: tuple[str, ...] = ()
) -> tuple[tuple[RecordedRun, ...], tuple[str, ...]]:
    """Record the runs in the one file that was received as this upload. As `receive`."""
    file_name = next((file.label for file in incoming.received(upload_id, (0,))), "")
    incoming.note_to_record(upload_id)
    try:
        accepted = uploads.accept(upload_id, (0,), _ignore_progress, person or "")
    except (OSError, BadInput):  # whoever sends it has it
        incoming.forget(upload_id)
        raise
    keyed = [places.directory_of_key(key) for key in accepted.keys]
    directories = [directory for directory in keyed if directory is not None]

    def called(directory: Path) -> str:
        name = own_name(read_record(directory, may_be_alive=False)[0], directory)
        return f"{name} in {file_name}" if len(directories) > 1 else file_name

    try:
        # One by one: those before an error count.
        recorded = [
            record(directory, person=person, tags=tags, called=called(directory))
            for directory in directories
        ]
    except HistoryUnavailable:  # it is full, say: what lies there is recorded later
        raise
    except BaseException:
        _forget_unused(directories)
        raise
    _forget_unused(directories)
    return tuple(recorded), accepted.notes


def _forget_unused(unpacked: list[Path]) -> None:
    """Delete what was unpacked for runs that were refused, or that lie here already.

    The database says which: a run whose recording ended in an error may stand there all the same.
    Where it is away nothing is deleted, and what lies there is recorded later.
    """
    keys = {places.key_of(directory): directory for directory in unpacked}
    try:
        used = recorded_keys([key for key in keys if key is not None])
    except HistoryUnavailable:
        return
    for key, directory in keys.items():
        if key not in used:
            remove_directory(directory)


def runs_in(folder: Path) -> list[Path]:
    """A run directory itself, or those in the folder of a capture.

    Raises:
        NotARun: there is none.
    """
    if places.has_run(folder):
        return [folder]
    directories = sorted(file.parent for file in folder.glob(f"*/{names.RUN_JSON}"))
    if not directories:
        raise NotARun(
            f"{folder} holds no run.", remedy="Pass a run directory or the folder of a capture."
        )
    return directories


def _copied_in(path: Path) -> str:
    upload_id = incoming.new_upload_id()
    try:
        partial = incoming.part_path(upload_id, 0)
        shutil.copyfile(path, partial)
    except OSError as error:
        incoming.forget(upload_id)
        raise BadInput(
            f"{path} cannot be read: {error.strerror}.", remedy="Check the path and its rights."
        ) from error
    incoming.keep(partial, path.name)
    return upload_id


def _ignore_progress(_text: str, _done: int | None, _total: int | None) -> None:
    """Discard the progress."""
