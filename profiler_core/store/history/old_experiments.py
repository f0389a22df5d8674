"""Experiments that nothing keeps any more, and what they compiled.

An experiment's own file is a few kilobytes, which the history of its captures reads: it stays as
long as one of these lies here, and as `keep_days` says of captures. What its settings compiled is
large, and only shortens a resumed experiment.
"""

import time
from dataclasses import dataclass
from datetime import timedelta

from profiler_core.home import runs_directory
from profiler_core.model.experiment import Experiment
from profiler_core.store.experiments import (
    FILE,
    caches_of,
    experiments,
    folder_of,
    forget_caches,
)
from profiler_core.store.history.clock import Clock
from profiler_core.store.owners import size_of

_MOST = 10_000
_CACHES_DAYS = 7


@dataclass(frozen=True)
class OldExperiment:
    """One that may go into the trash, and why. n_bytes: of its own files."""

    experiment_id: str
    title: str
    created_at: str
    reason: str
    n_bytes: int

    @property
    def key(self) -> str:
        """Of the library."""
        return f"run/{folder_of(runs_directory(), self.experiment_id).name}"


def old_experiments(keep_days: int | None, clock: Clock) -> tuple[OldExperiment, ...]:
    """Those of this machine that may go, the oldest first; none without the rule.

    Args:
        keep_days: of captures.
        clock: by which they are old; one with an implausible date stays.
    """
    if keep_days is None:
        return ()
    out = runs_directory()
    leaving = []
    for experiment in experiments(out, _MOST):
        age = clock.age(experiment.created_at)
        is_dated = clock.is_plausible(experiment.created_at)
        if is_dated and age > timedelta(days=keep_days) and not _is_wanted(experiment):
            reason = (
                f"it is {age.days} days old, and its captures are gone (keep_days = {keep_days})"
            )
            n_bytes = size_of(folder_of(out, experiment.experiment_id))
            named = (experiment.experiment_id, experiment.title, experiment.created_at)
            leaving.append(OldExperiment(*named, reason, n_bytes))
    return tuple(sorted(leaving, key=lambda old: (old.created_at, old.experiment_id)))


def _is_wanted(experiment: Experiment) -> bool:
    out = runs_directory()
    return experiment.state == "running" or any(
        (out / batch.capture_id).exists() for batch in experiment.batches
    )


def forget_old_caches() -> None:
    """Delete what experiments compiled that ended a week ago, and were not resumed since."""
    out = runs_directory()
    for experiment in experiments(out, _MOST):
        if experiment.state == "running" or not caches_of(out, experiment.experiment_id).exists():
            continue
        changed_at = (folder_of(out, experiment.experiment_id) / FILE).stat().st_mtime
        if time.time() - changed_at > timedelta(days=_CACHES_DAYS).total_seconds():
            forget_caches(out, experiment.experiment_id)
