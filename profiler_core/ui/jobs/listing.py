"""The jobs of a person, an admin's all: state, place in the queue, the way to what they made."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.wording.first_lines import jobs_line
from profiler_core.door import deeds
from profiler_core.errors import FusionscopeError
from profiler_core.jobs import service as jobs
from profiler_core.jobs.directory import MEASURING
from profiler_core.jobs.service import Job
from profiler_core.store import history, incoming
from profiler_core.ui.address import in_address
from profiler_core.ui.capture.list import when
from profiler_core.ui.capture.progress import elapsed, state_chip
from profiler_core.ui.choice import query_of
from profiler_core.ui.download import download_button
from profiler_core.ui.file_from_command import made_file
from profiler_core.ui.jobs.stop import cancel_button
from profiler_core.ui.jobs.told import show_log, show_problem
from profiler_core.ui.links import page_link, plain_label
from profiler_core.ui.page import FirstLine, section
from profiler_core.ui.sign_in.asker import asker
from profiler_core.ui.sign_in.guard import fragment
from profiler_core.ui.upload.receiving import accepted

_REFRESH_S = 2.0
_LISTED = 50
OWN, ALL = "Mine", "Everybody's"
_KINDS = {"capture": "Capture", "try": "Experiment", "ingest": "Upload", "read": "First reading"}


def show_jobs(first_line: FirstLine) -> None:
    """Draw them; the list refreshes itself while something runs or waits.

    Args:
        first_line: of the page, which says what goes on.
    """
    who = asker()
    if who is None:
        return
    whose = OWN
    if who.signed_in and "delete" in who.deeds:
        whose = st.segmented_control(
            "Whose", [OWN, ALL], default=OWN, required=True, label_visibility="collapsed",
            **in_address("whose", OWN),
        )  # fmt: skip
    before = listed_jobs(whose)
    is_live = any(job.is_live for job in before)
    first_line.answer(line_of_jobs(before))

    def follow() -> None:
        listed = listed_jobs(whose)
        if is_live and not any(job.is_live for job in listed):
            st.rerun()  # stops the refreshing
        _draw(listed)

    fragment(follow, run_every=_REFRESH_S if is_live else None)()


def listed_jobs(whose: str) -> tuple[Job, ...]:
    """The newest jobs that this person may see now: the role may have changed on an open page.

    Args:
        whose: `ALL` counts for an admin only.
    """
    who = asker()
    if who is None:
        return ()
    sees_all = not who.signed_in or (whose == ALL and "delete" in who.deeds)
    return jobs.jobs(_LISTED, owner=None if sees_all else who.person, which=_is_news)


def line_of_jobs(listed: Sequence[Job], noun: str = "job") -> str:
    """What goes on now; "" where nothing ever did."""
    states = [job.state for job in listed]
    n_waiting = states.count("queued")
    n_live = sum(job.is_live for job in listed)
    line = jobs_line(n_live - n_waiting, n_waiting, states.count("failed"), noun)
    return line if listed else ""


def _is_news(job: Job) -> bool:
    """A file that was read with success is in the cache."""
    return (job.spec.kind, job.state) != ("read", "finished")


def _draw(listed: tuple[Job, ...]) -> None:
    live = [job for job in listed if job.is_live]
    ended = [job for job in listed if not job.is_live]
    section("Running and waiting")
    if not live:
        st.html("<p class=fs-note>Nothing is running or waiting.</p>")
    for job in sorted(live, key=lambda job: (job.state == "queued", job.spec.submitted_at)):
        _row(job)
    if ended:
        section("Ended")
    for job in ended:
        _row(job)


def _row(job: Job) -> None:
    with st.container(border=True, key=f"fs_job_{job.job_id}"):
        about = [_KINDS.get(job.spec.kind, "File"), when(job.spec.submitted_at), elapsed(job)]
        if job.spec.owner:
            about.append(history.name_of(job.spec.owner))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(
                f"<div class=fs-job-head><b>{escape(job.spec.title)}</b> {state_chip(job)} "
                f"<span class=fs-note>{escape(' · '.join(about))}</span></div>",
                width="stretch",
            )
            _measured(job)
            if job.is_live:
                cancel_button(job)
            else:
                _result(job)
        if job.state == "queued":
            place = f" Place {job.n_ahead + 1} in the queue." if job.n_ahead else ""
            _note(f"{job.waiting_for or 'Waits for its turn.'}{place}")
        elif job.state == "running":
            _progress(job)
        elif job.error:
            show_problem(job, error="", remedy="Start it again once that is put right.")
            show_log(job)


def _progress(job: Job) -> None:
    if job.spec.kind in MEASURING:
        latest = job.progress.latest
        _note(latest.text if latest and latest.text else "Starting the processes.")
        return
    newest = job.newest
    if newest.total:
        st.progress(newest.share)
    if newest.text:
        _note(newest.text)


def _measured(job: Job) -> None:
    """The way to what a capture or an experiment measures: its progress, then its results."""
    if job.spec.kind == "capture":
        page_link("capture", "Open the capture", {"job": job.job_id})
    elif job.spec.kind == "try":
        page_link("experiments", "Open the experiment", {"experiment": job.spec.subject})


def _result(job: Job) -> None:
    """The way to what it made of a file."""
    if job.spec.kind in MEASURING:
        return
    if job.state != "finished":
        # What was killed too often keeps what was received, for a day.
        if job.spec.kind == "ingest" and incoming.kept(job.spec.subject):
            st.button(
                "Read again", key=f"fs_again_{job.job_id}", on_click=_again, args=(job.job_id,)
            )
    elif job.spec.kind == "ingest":
        try:
            page_link("overview", "Open the runs", query_of(accepted(job.job_id).keys))
        except FusionscopeError as error:
            _note(error.problem)
    else:
        path = made_file(job)
        download_button(
            "Download", path.read_bytes, file_name=path.name, key=f"fs_file_{job.job_id}", job=job
        )


def _again(job_id: str) -> None:
    try:
        deeds.read_again(asker(), job_id)
    except FusionscopeError as error:
        st.toast(plain_label(error.problem))


def _note(text: str) -> None:
    st.html(f"<p class=fs-note>{escape(text)}</p>")
