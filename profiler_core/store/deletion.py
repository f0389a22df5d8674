"""Deleting what this user captured or uploaded; samples and opened paths are never touched."""

import shutil

from profiler_core.errors import BadInput
from profiler_core.store.library import Comparable

_DELETABLE = ("capture", "upload")


def can_be_deleted(group: Comparable) -> bool:
    """Own, and not being written just now."""
    return group.origin in _DELETABLE and not group.is_alive


def delete(group: Comparable, *, person: str | None = None) -> None:
    """Delete a comparison with all its runs, for good.

    Its runs leave the history too.

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
    with history.forgetting_places([entry.key for entry in group.entries], person=person):
        _delete_files(group)


def _delete_files(group: Comparable) -> None:
    try:
        # A link is not followed: only the entry in our own folder goes.
        if group.path.is_symlink():
            group.path.unlink()
        else:
            shutil.rmtree(group.path)
    except OSError as error:
        raise BadInput(
            f"{group.path} could not be deleted: {error.strerror}.",
            remedy="Check the permissions of the folder.",
        ) from error
