"""Follows the job that makes runs of what was uploaded, which goes on without the page."""

from collections.abc import Callable

from profiler_core.jobs import service as jobs
from profiler_core.store.uploads import Accepted

Show = Callable[[str, float | None], None]  # a sentence, and how much is done (0 to 1)


def follow(job_id: str, show: Show) -> None:
    """Show what the job says, until it has ended or the page is left."""
    for progress in jobs.follow(job_id):
        # Always something: only while it draws does a run end because of a click elsewhere.
        show(progress.text or "Starting", progress.share if progress.total else None)


def accepted(job_id: str) -> Accepted:
    """What the job made.

    Raises:
        BadInput: nothing usable was among the files; the sentence is the process's own.
    """
    return jobs.result(job_id, Accepted)
