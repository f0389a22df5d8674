"""Uploads that were received and never opened: they go after a day, and the audit says so."""

from profiler_core.jobs import service as jobs
from profiler_core.store import incoming


def forget_unopened() -> None:
    """Delete those of more than a day ago.

    Raises:
        OSError: it can be recorded nowhere; nothing is deleted then.
    """
    outdated = incoming.outdated(waiting=jobs.live_subjects("ingest"))
    if not outdated:
        return
    from profiler_core.store import history  # late: it brings the database along

    for upload_id, person in outdated.items():
        history.note_or_keep(person, "discard", f"upload/{upload_id}", reason="not opened in a day")
        incoming.forget(upload_id)
