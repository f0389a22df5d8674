"""Uploads that were received and never opened: they go after a day, and the audit says so."""

from profiler_core.jobs import service as jobs
from profiler_core.store import incoming


def forget_unopened() -> None:
    """Delete those of more than a day ago.

    Raises:
        OSError: it can be recorded nowhere; nothing is deleted then.
    """
    outdated = incoming.outdated()
    if not outdated:
        return
    live = jobs.live_subjects("ingest")
    from profiler_core.store import history  # late: it brings the database along

    for upload_id, person in outdated.items():
        if upload_id in live or not incoming.incoming_directory(upload_id).is_dir():
            continue  # opened, and waits to be read, or was read meanwhile
        history.note_or_keep(person, "discard", f"upload/{upload_id}", reason="not opened in a day")
        incoming.forget(upload_id)
