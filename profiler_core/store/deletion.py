"""Deleting what this user captured or uploaded; samples and opened paths are never touched."""

from profiler_core.errors import BadInput
from profiler_core.home import runs_directory
from profiler_core.store.experiments import folder_of, read_experiment
from profiler_core.store.library import Comparable

_DELETABLE = ("capture", "upload")


def can_be_deleted(group: Comparable) -> bool:
    """Own, and not being written just now."""
    return group.origin in _DELETABLE and not group.is_alive


def delete(group: Comparable, *, person: str | None = None) -> str:
    """Move a comparison with all its runs into the trash; returns the deletion's id.

    Its runs leave the history too, until they are put back.

    Args:
        group: what to delete.
        person: who does it; by default the user of the system.

    Raises:
        BadInput: it is no capture or upload of ours, it is being captured, one of its runs is a
            baseline or part of a review, or the disk refuses.
    """
    from profiler_core.store import history  # late: it brings the database along

    if not can_be_deleted(group):
        raise BadInput(
            f"{group.title} cannot be deleted: it is a sample, or a capture that still runs.",
            remedy="Cancel the capture first.",
        )
    keys = [entry.key for entry in group.entries]
    return history.delete_at(keys, group.key, group.title, person=person)


def delete_experiment(experiment_id: str, *, person: str | None = None) -> str:
    """Move an experiment into the trash; returns the deletion's id.

    Its captures stay: they are runs like any other.

    Args:
        experiment_id: which; it may come from a URL.
        person: who does it; by default the user of the system.

    Raises:
        BadInput: there is none, it runs, or the disk refuses.
    """
    from profiler_core.store import history  # late: it brings the database along

    out = runs_directory()
    experiment = read_experiment(out, experiment_id)
    if experiment.state == "running":
        raise BadInput(f"{experiment.title} runs.", remedy="Cancel it first.")
    title = f"Experiment on {experiment.title}"
    return history.delete_at([], f"run/{folder_of(out, experiment_id).name}", title, person=person)
