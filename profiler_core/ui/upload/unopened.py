"""Uploads that were received and never opened: offered again, and forgotten after a day."""

import contextlib
from datetime import UTC, datetime

import streamlit as st

from profiler_core.dates import minute
from profiler_core.door.asker import Asker
from profiler_core.jobs import service as jobs
from profiler_core.store import incoming
from profiler_core.ui.links import plain_label
from profiler_core.ui.upload.drop_zone import Arrived
from profiler_core.units import format_bytes

_MOST, _MOST_NAMES = 5, 3


def offer_unopened(who: Asker, own_upload_id: str) -> Arrived | None:
    """List what this person sent from a page that was left or reloaded before it was opened.

    Args:
        who: sent it.
        own_upload_id: of this page's own drop zone, which lists its files itself.

    Returns:
        What the person wants to open now.
    """
    with contextlib.suppress(FileNotFoundError):  # it is opened elsewhere at this moment
        uploads = [u for u in incoming.unopened(who.person) if u.upload_id != own_upload_id]
        live = jobs.live_subjects("ingest") if uploads else frozenset()
        wanted = [_offer(u, who) for u in uploads if u.upload_id not in live][:_MOST]
        return next(filter(None, wanted), None)
    return None


def _offer(upload: incoming.Unopened, who: Asker) -> Arrived | None:
    names = ", ".join(upload.names[:_MOST_NAMES])
    n_more = len(upload.names) - _MOST_NAMES
    more = f" and {n_more} more" if n_more > 0 else ""
    when = minute(datetime.fromtimestamp(upload.arrived_s, UTC).isoformat())
    caption = f"{names}{more}: {format_bytes(upload.n_bytes)}, arrived {when} and not opened yet."
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(f"{plain_label(caption)} It is deleted after a day.")
        is_wanted = st.button("Open", key=f"fs_open_{upload.upload_id}")
        if st.button("Delete", key=f"fs_discard_{upload.upload_id}"):
            _discard(upload.upload_id, who.person, "deleted unopened")
            st.rerun()
    return Arrived(upload.upload_id, incoming.kept(upload.upload_id)) if is_wanted else None


def _discard(upload_id: str, person: str, reason: str) -> None:
    from profiler_core.store import history  # late: it brings the database along

    history.note_or_keep(person, "discard", f"upload/{upload_id}", reason=reason)
    incoming.forget(upload_id)


def forget_unopened() -> None:
    """Delete those of more than a day ago.

    Raises:
        OSError: it can be recorded nowhere; nothing is deleted then.
    """
    outdated = incoming.outdated()
    if not outdated:
        return
    live = jobs.live_subjects("ingest")
    for upload_id, person in outdated.items():
        if upload_id in live or not incoming.incoming_directory(upload_id).is_dir():
            continue  # opened, and waits to be read, or was read meanwhile
        _discard(upload_id, person, "not opened in a day")
