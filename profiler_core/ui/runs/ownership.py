"""Whose a comparison is, and who may delete it."""

from profiler_core.capture import jobs
from profiler_core.store.deletion import can_be_deleted
from profiler_core.store.library import Comparable
from profiler_core.store.owners import owner_of
from profiler_core.ui.sign_in.visitor import visitor


def may_delete(group: Comparable) -> bool:
    """Everything of one's own; what others made only as an admin. Samples never."""
    who = visitor()
    if who is None or not can_be_deleted(group):
        return False
    if who.may("delete"):
        return True
    return bool(who.holder) and who.may("upload") and owner(group) == who.person


def owner(group: Comparable) -> str | None:
    """Who uploaded it, or whose job captured it; None: nobody knows."""
    if group.origin == "upload":
        return owner_of(group.path)
    return next((job.spec.owner for job in jobs.jobs() if job.result == group.path), None)
