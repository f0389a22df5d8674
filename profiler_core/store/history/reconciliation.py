"""What lies here and is not in the history yet: after a crash, a copy by hand, a CLI capture.

Safe to run at any time, at once from several processes, and again: a run is recorded once.
"""

import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from profiler_core.errors import FusionscopeError
from profiler_core.jobs.brought import bring_left
from profiler_core.model.history import RecordedRun
from profiler_core.store import catalogue
from profiler_core.store.aside import sweep
from profiler_core.store.experiments import experiments
from profiler_core.store.history import places
from profiler_core.store.history.artifacts import artifacts
from profiler_core.store.history.claims import another_id
from profiler_core.store.history.copies import sweep_copies
from profiler_core.store.history.database import where
from profiler_core.store.history.integrity import notice
from profiler_core.store.history.later_deletions import put_back_later_deletions
from profiler_core.store.history.old_experiments import forget_old_caches
from profiler_core.store.history.predictions import keep_predictions
from profiler_core.store.history.query import known_artifacts, known_runs, recorded_places
from profiler_core.store.history.recording import (
    METRICS_VERSION,
    record,
    record_artifact,
    run_id_of,
)
from profiler_core.store.history.trash import empty_old, settle
from profiler_core.store.history.trash_files import DELETED
from profiler_core.store.records import read_record

Say = Callable[[str, int, int], None]  # a run's name, how many are done, of how many
_EXPERIMENTS = 500  # of this machine, the newest, whose predictions are kept
_log = logging.getLogger(__name__)
_Task = TypeVar("_Task", Path, str)  # a run directory, or an artifact's name


@dataclass(frozen=True)
class Reconciled:
    """What was found. problems: (a place, why it could not be recorded)."""

    recorded: tuple[str, ...]  # run ids
    problems: tuple[tuple[str, str], ...]


def pending() -> tuple[Path, ...]:
    """Ended run directories of this machine that the history lacks; decodes run.json only."""
    return _looked_through()[0]


def _looked_through() -> tuple[tuple[Path, ...], tuple[tuple[str, str], ...]]:
    """What the history lacks, and what contradicts it: (a folder, why)."""
    metrics_versions, places_of_runs = known_runs(), recorded_places()
    ids_there: dict[str, set[str]] = {}
    for recorded_id, (place, has_files) in places_of_runs.items():
        if has_files:
            ids_there.setdefault(place, set()).add(recorded_id)
    directories, contradictions = [], []
    for directory in places.run_directories():
        key = places.key_of(directory)
        if key is None:
            continue
        may_be_alive = places.origin_of(key) == "capture"
        run, problem = read_record(directory, may_be_alive=may_be_alive)
        if problem is not None or run.status == "running":
            continue
        run_id = run_id_of(run, key)
        contradiction = another_id(run_id, ids_there.get(key, ()))
        if contradiction is None and places_of_runs.get(run_id, (key,))[0] != key:
            contradiction = notice(run_id, key, directory)
        if contradiction is not None:
            contradictions.append((f"{directory.parent.name}/{directory.name}", contradiction))
        elif metrics_versions.get(run_id, 0) < METRICS_VERSION:
            directories.append(directory)
    return tuple(directories), tuple(contradictions)


def waiting() -> tuple[Path, ...]:
    """As `pending`, by the kept list of runs: without a look at each folder."""
    here = f"{where()} {METRICS_VERSION}"
    ended = catalogue.not_noted(here)
    metrics_versions = known_runs([run.run_id for run in ended])
    is_recorded = [metrics_versions.get(run.run_id, 0) >= METRICS_VERSION for run in ended]
    noted = [run.key for run, recorded in zip(ended, is_recorded, strict=True) if recorded]
    if noted:
        catalogue.note_recorded(noted, here)
    directories = [
        places.directory_of_key(run.key)
        for run, recorded in zip(ended, is_recorded, strict=True)
        if not recorded
    ]
    return tuple(directory for directory in directories if directory is not None)


def reconcile(say: Say | None = None) -> Reconciled:
    """Record all that is pending, here and among the artifacts; sweep what crashes left.

    What experiments said of predictions is kept, too.

    The kept list of runs is compared with each folder, too.

    Raises:
        BadInput: the history or the artifacts cannot be reached at all.
    """
    problems = list(_sweep())
    catalogue.refresh(everything=True)
    keep_predictions(experiments(places.roots()["run"], _EXPERIMENTS))
    recorded: list[str] = []

    def work_off(tasks: Sequence[_Task], task: Callable[[_Task], RecordedRun]) -> None:
        for n_done, subject in enumerate(tasks):
            name = subject if isinstance(subject, str) else f"{subject.parent.name}/{subject.name}"
            if say is not None:
                say(name, n_done, len(tasks))
            try:
                recorded.append(task(subject).run_id)
            except FusionscopeError as error:
                problems.append((name, error.problem))
            except Exception as error:  # a fault of ours with one run keeps no other out
                _log.exception("%s is not recorded", name)
                problems.append((name, f"Reading it met a fault of Fusionscope ({error!r:.200})."))

    lacking, contradictions = _looked_through()
    work_off(lacking, record)
    problems += contradictions
    problems += [
        (places.shown(folder.relative_to(folder.parents[1])), f"Not recorded: {places.NAMELESS}.")
        for folder in places.nameless()
        if places.has_run(folder) or any(map(places.has_run, folder.glob("*/")))
    ]
    problems += [
        (f"{folder.parent.name}/{folder.name}", "Not recorded: this user may not read it.")
        for folder in places.closed()
        if not folder.name.startswith(".")
    ]
    artifact_store = artifacts()
    if artifact_store is not None:
        stored_names = set(artifact_store.names())  # what was just recorded is known by now
        work_off(sorted(stored_names - known_artifacts()), record_artifact)
    return Reconciled(tuple(recorded), tuple(problems))


def _sweep() -> tuple[tuple[str, str], ...]:
    """What a process that died left: deletions half way, copies from long ago.

    Returns:
        What of it is left: (a deletion, why).
    """
    problems = settle()
    put_back_later_deletions()
    empty_old()
    forget_old_caches()
    bring_left(places.roots()["run"])
    for root in places.roots().values():
        captures = [folder for folder in places.folders_in(root) if not folder.is_symlink()]
        for folder in (root, *captures):
            for inner in places.folders_in(folder):
                if inner.name.startswith(DELETED):
                    shutil.rmtree(inner, ignore_errors=True)
        sweep(captures)
    sweep_copies()
    artifact_store = artifacts()
    if artifact_store is not None:
        artifact_store.sweep()
    return problems
