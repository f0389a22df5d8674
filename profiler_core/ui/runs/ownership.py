"""Whose a comparison is, and who may delete it."""

from profiler_core.jobs import service as jobs
from profiler_core.owner_file import owner_of
from profiler_core.store.deletion import can_be_deleted
from profiler_core.store.library import Comparable
from profiler_core.ui.sign_in.visitor import Visitor


def may_delete(group: Comparable, who: Visitor | None) -> bool:
    """Everything of one's own; what others made only as an admin. Samples never."""
    if who is None or not can_be_deleted(group):
        return False
    return who.may("delete") or who.may_remove(owner(group), "upload")


def owner(group: Comparable) -> str | None:
    """Who uploaded it, or whose job captured or captures it; None: nobody knows."""
    person = owner_of(group.path)
    if person is not None or group.origin == "upload":
        return person
    # A capture that begins just now, or one of a version that wrote no owner beside its runs.
    return jobs.owner_of_capture(group.path)
