"""Which files of a home belong into a backup, and which of them only together.

A run is in a backup whole or not at all: its directory is one `Unit`. Caches, jobs and what only
one server's life needs (links, server.json) stay out; files on their way in are no runs yet.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.home import TRASH, home_directory
from profiler_core.store.experiments import FILE as EXPERIMENT
from profiler_core.store.experiments import NOT_KEPT
from profiler_core.store.history.packing import kept_files
from profiler_core.store.history.waiting_deeds import files_of_waiting_deeds
from profiler_core.store.records import read_record

RUN_ROOTS = ("runs", "uploads")
SECRETS = ("server.key",)


@dataclass(frozen=True)
class Choice:
    """What a backup holds beside runs, uploads, settings and the history."""

    with_secrets: bool = False  # server.key, and keys of settings.toml that are secret
    with_trash: bool = False


@dataclass(frozen=True)
class Unit:
    """Files that are backed up together or not at all."""

    folder: Path
    files: tuple[Path, ...]
    run: Path | None = None  # the run directory that they are
    stands_alone: bool = False  # an experiment: wanted without any run beside it

    @property
    def is_being_made(self) -> bool:
        """Does a process still write this run?"""
        if self.run is None:
            return False
        return read_record(self.run, may_be_alive=True)[0].status == "running"

    def version(self) -> tuple[tuple[str, int, int], ...] | None:
        """Changes when a file of it does; None: one of them is gone, or one more is there."""
        if self.run is not None and _files_of(self.run) != self.files:
            return None  # it was still captured when they were listed, and has ended since
        try:
            stats = [(str(path), path.stat()) for path in self.files]
        except FileNotFoundError:
            return None
        return tuple((path, stat.st_mtime_ns, stat.st_size) for path, stat in stats)


def units(choice: Choice) -> Iterator[Unit]:
    """What belongs into a backup, in the order of paths. Each is listed when it is asked for."""
    home = home_directory()
    for root in RUN_ROOTS:
        for capture in _entries(home / root):
            if capture.is_dir():
                yield from _of_capture(capture)
        trash = home / root / TRASH
        for deleted in sorted(trash.iterdir()) if choice.with_trash and trash.is_dir() else ():
            yield Unit(deleted, tuple(kept_files(deleted)))
    single = list(files_of_waiting_deeds())
    if choice.with_secrets:
        single += [home / name for name in SECRETS]
    there = tuple(path for path in single if path.is_file())
    if there:
        yield Unit(home, there)


def _of_capture(capture: Path) -> Iterator[Unit]:
    runs = [folder for folder in (capture, *_entries(capture)) if _is_run(folder)]
    for run in runs:
        yield Unit(run, _files_of(run), run)
    files = list(kept_files(capture))
    is_experiment = (capture / EXPERIMENT).is_file()
    apart = [capture / name for name in NOT_KEPT] if is_experiment else []
    loose = tuple(path for path in files if not _below(path, [*runs, *apart]))
    if loose and (runs or is_experiment):  # without any run it is being made, or deleted
        yield Unit(capture, loose, stands_alone=is_experiment)


def _files_of(run: Path) -> tuple[Path, ...]:
    """What belongs to a run as it is now: a capture's folder that is one itself may hold others."""
    is_capture = run.parent.parent == home_directory()
    inner = [folder for folder in _entries(run) if _is_run(folder)] if is_capture else []
    return tuple(path for path in kept_files(run) if not _below(path, inner))


def _below(path: Path, folders: list[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _is_run(folder: Path) -> bool:
    return folder.is_dir() and (folder / names.RUN_JSON).is_file()


def _entries(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [e for e in entries if _is_shown(e.name) and not e.is_symlink()]


def _is_shown(name: str) -> bool:
    return not name.startswith(".") and names.is_text(name)
