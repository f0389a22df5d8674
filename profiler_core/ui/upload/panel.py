"""The upload as pages embed it: drop zone, progress of reading, and on to the comparison."""

from typing import NoReturn

import streamlit as st

from profiler_core.door import deeds
from profiler_core.errors import FusionscopeError
from profiler_core.jobs import service as jobs
from profiler_core.store import incoming
from profiler_core.store.uploads import Accepted
from profiler_core.ui.choice import Choice, choose, query_of
from profiler_core.ui.links import go_to, page_link
from profiler_core.ui.notes import show_notes
from profiler_core.ui.problem_card import escape_markdown, problem_card
from profiler_core.ui.sign_in.asker import asker
from profiler_core.ui.upload.drop_zone import drop_zone
from profiler_core.ui.upload.receiving import accepted, follow
from profiler_core.ui.upload.unopened import forget_unopened, offer_unopened

_UPLOAD, _PROBLEM = "fs_upload_id", "fs_upload_problem"
_READING = "fs_upload_reading"  # a job, which goes on while the page is left
_NOTES, _NOTED = "fs_upload_notes", "fs_upload_noted"  # sentences, and the runs that they are of


def upload_panel(page: str = "overview") -> None:
    """Draw the drop zone; once files are there, read them and open the comparison of them.

    Call it once on a page. It switches to the page that is named when it is done.
    """
    who = asker()
    if who is None or "upload" not in who.deeds:
        st.html("<p class=fs-note>Uploads need the role of a runner on this server.</p>")
        return
    if _UPLOAD not in st.session_state:
        forget_unopened()
        st.session_state[_UPLOAD] = incoming.new_upload_id()
    arrived = drop_zone(st.session_state[_UPLOAD], key="fs_drop_zone")
    if arrived is not None:
        # Whatever becomes of this upload, the next one is another.
        st.session_state[_UPLOAD] = incoming.new_upload_id()
    below = st.container()
    if arrived is None and _READING not in st.session_state:
        arrived = offer_unopened(who, st.session_state[_UPLOAD])
    if arrived is not None:
        try:
            st.session_state[_READING] = deeds.start_reading_upload(
                who, arrived.upload_id, arrived.places
            )
        except FusionscopeError as problem:
            _fail(problem)
    job_id: str | None = st.session_state.get(_READING)
    if job_id is None:
        _show_last_end(below)
        return
    # The page was left while it was read.
    was_left = arrived is None and not jobs.job(job_id).is_live
    with below, st.status("Reading what arrived", expanded=True) as status:
        line, bar = st.empty(), st.empty()

        def show(text: str, share: float | None) -> None:
            line.markdown(escape_markdown(text))
            if share is not None:
                bar.progress(min(1.0, share))

        follow(job_id, show)
        # Where something else was clicked this run ends here, and the job is shown on return.
        status.update(label="Read while you were away" if was_left else "Opening", state="complete")
        del st.session_state[_READING]
        try:
            received = accepted(job_id)
        except FusionscopeError as problem:
            _fail(problem)
    _keep_notes(received)
    if was_left:
        with below:
            page_link(page, "Open what you dropped", query_of(received.keys))
            _show_last_end(below)
        return
    choose(received.keys)
    go_to(page, query_of(received.keys))


def _fail(problem: FusionscopeError) -> NoReturn:
    st.session_state[_PROBLEM] = (problem.problem, problem.remedy)
    st.rerun()


def _keep_notes(received: Accepted) -> None:
    st.session_state[_NOTES] = received.notes
    st.session_state[_NOTED] = received.keys


def show_upload_notes(choice: Choice) -> None:
    """What of the upload that is looked at was left out, or taken to be somebody's."""
    notes: tuple[str, ...] = st.session_state.get(_NOTES, ())
    if notes and choice.entries[0].key in st.session_state.get(_NOTED, ()):
        show_notes(notes)


def _show_last_end(below: "st.delta_generator.DeltaGenerator") -> None:
    """What went wrong last time, once; files that were left out stay until the next upload."""
    with below:
        problem = st.session_state.pop(_PROBLEM, None)
        if problem:
            problem_card(*problem)
        for note in st.session_state.get(_NOTES, ()):
            st.caption(escape_markdown(note))
