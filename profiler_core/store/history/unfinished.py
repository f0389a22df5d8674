"""Captures that somebody is still at: of these retention takes no run, however old it is.

A run is recorded once it has ended, while the other variants of its capture are measured.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.home import runs_directory
from profiler_core.model.history import RecordedRun
from profiler_core.store.experiments import experiments
from profiler_core.store.history import places
from profiler_core.store.records import read_record

_MOST = 10_000  # experiments


class Unfinished:
    """What is measured on this machine: sweeps and experiments as of the first question."""

    def holds(self, members: Sequence[RecordedRun]) -> bool:
        """Is this capture still measured, or is it part of what still is?

        A sweep is one, and an experiment: each makes one capture after another.

        Args:
            members: recorded runs of the capture.
        """
        folders = {_folder(run.key) for run in members} - {None}
        runs = {path for folder in folders if folder is not None for path in _runs_in(folder)}
        sweeps = {_sweep(path) for path in runs} - {""}
        return (
            any(_runs_now(path) for path in runs)
            or (bool(sweeps) and not sweeps.isdisjoint(self._sweeps))
            or members[0].capture_id in self._of_experiments
        )

    @cached_property
    def _sweeps(self) -> frozenset[str]:
        return frozenset(map(_sweep, _beating()))

    @cached_property
    def _of_experiments(self) -> frozenset[str]:
        """The captures of experiments that run."""
        return frozenset(
            batch.capture_id
            for experiment in experiments(runs_directory(), _MOST)
            if experiment.state == "running"
            for batch in experiment.batches
        )


def _folder(key: str) -> Path | None:
    """Of the capture that a run belongs to; None: it is an upload."""
    directory = places.directory_of_key(key) if places.origin_of(key) == "capture" else None
    return directory.parent if directory is not None and key.count("/") > 1 else directory


def _runs_in(folder: Path) -> list[Path]:
    return (
        [folder]
        if places.has_run(folder)
        else list(filter(places.has_run, places.folders_in(folder)))
    )


def _runs_now(directory: Path) -> bool:
    return read_record(directory, may_be_alive=True)[0].status == "running"


def _sweep(directory: Path) -> str:
    point = read_record(directory, may_be_alive=False)[0].sweep
    return "" if point is None else point.id


def _beating() -> list[Path]:
    """The run directories that are written now."""
    captures = places.folders_in(runs_directory())
    runs = (run for folder in captures for run in places.folders_in(folder))
    return [run for run in runs if (run / names.HEARTBEAT).exists() and _runs_now(run)]
