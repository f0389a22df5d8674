"""A run directory from elsewhere, copied below our folders before it is recorded."""

import os
import shutil
from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.durable import bring
from profiler_core.errors import BadInput, NotARun
from profiler_core.home import runs_directory
from profiler_core.model.run import RunRecord
from profiler_core.store.aside import new_folder
from profiler_core.store.history import places
from profiler_core.store.history.integrity import difference
from profiler_core.store.history.packing import file_marks

_LONGEST_NAME = 220  # bytes; of 255 some are for what is written aside and renamed


def stored_directory(run_directory: Path, run_record: RunRecord) -> Path:
    """The directory below our folders: itself, or a copy that appears there at once."""
    if places.key_of(run_directory) is not None:
        return run_directory
    resolved = run_directory.resolve()
    capture = run_record.capture_id or resolved.parent.name
    name = resolved.name
    for part in (capture, name):
        is_long = len(part.encode("utf-8", "replace")) > _LONGEST_NAME
        if not part or is_long or part.startswith((".", "_")) or set(part) & {"/", "\\", "\0"}:
            raise NotARun(
                f"{part[:100]!r} cannot be the name of a folder of runs.",
                remedy="Rename the run's folder, or pack it as a .zip and import that.",
            )
    target = runs_directory() / capture / name
    if places.has_run(target):
        if difference(file_marks(target), file_marks(resolved))[0] is not None:
            raise BadInput(
                f"{target} holds another run than {run_directory}.",
                remedy="Rename the folder that is to be imported.",
            )
        return target
    try:
        with new_folder(target) as aside:
            shutil.copytree(
                resolved, aside, symlinks=True, ignore=shutil.ignore_patterns(".*"),
                dirs_exist_ok=True,
            )  # fmt: skip
            _replace_links(aside, run_directory)
            (aside / names.IMPORTED).touch()  # nothing that its run.json names is run by a click
            bring(aside, target)
    except OSError as error:
        if not places.has_run(target):  # else another process was faster
            raise BadInput(
                f"{run_directory} cannot be copied into {runs_directory()}: {error}.",
                remedy="Make room on the disk, or check the rights.",
            ) from error
    return target


def _replace_links(copy: Path, run_directory: Path) -> None:
    """Put the files of the run that its links lead to in their place.

    Raises:
        BadInput: one leads elsewhere: somebody else's run would take a file of this user's along.
    """
    top = copy.resolve()
    for parent, folders, files in os.walk(copy):
        for link in (Path(parent, name) for name in (*folders, *files)):
            if not link.is_symlink():
                continue
            file = Path(os.path.realpath(link))
            if not file.is_relative_to(top) or not file.is_file():
                raise BadInput(
                    f"{run_directory / link.relative_to(copy)} is a link that leads out of the "
                    "run's folder, or to no file.",
                    remedy="Put a copy of what it leads to in its place, or remove it.",
                )
            link.unlink()
            shutil.copy2(file, link)
