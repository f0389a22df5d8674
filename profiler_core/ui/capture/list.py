"""The captures that were started here, by whomever: what runs, what waits, what there was."""

import time
from html import escape

import streamlit as st

from profiler_core.jobs import service as jobs
from profiler_core.jobs.service import Job
from profiler_core.store import history
from profiler_core.ui.capture.progress import elapsed, state_chip
from profiler_core.ui.page import section
from profiler_core.ui.problem_card import escape_markdown
from profiler_core.ui.sign_in.guard import fragment

_REFRESH_S = 3.0
_LISTED = 20
_SHOWN = 5  # older ones are folded


def capture_list(current: str | None) -> tuple[Job, ...]:
    """Draw the list, where there is any; it refreshes itself while something runs or waits.

    Args:
        current: the job that the page shows already.

    Returns:
        What is listed.
    """
    listed = jobs.jobs(_LISTED, kind="capture")
    if not listed:
        return ()
    section("Recent captures")
    is_live = any(job.is_live for job in listed)

    def follow() -> None:
        listed = jobs.jobs(_LISTED, kind="capture")
        for job in listed[:_SHOWN]:
            _row(job, is_current=job.job_id == current)
        older = listed[_SHOWN:]
        if older:
            with st.expander("Older ones", type="compact", key="fs_jobs_older"):
                for job in older:
                    _row(job, is_current=job.job_id == current)

    fragment(follow, run_every=_REFRESH_S if is_live else None)()
    return listed


def _row(job: Job, *, is_current: bool) -> None:
    about = [when(job.spec.submitted_at), elapsed(job)]
    if job.spec.owner:
        about.append(history.name_of(job.spec.owner))
    with st.container(gap="xxsmall", key=f"fs_job_row_{job.job_id}"):
        # A link to the same page would be drawn as the current one and reload nothing.
        if st.button(
            escape_markdown(job.spec.title),
            key=f"fs_job_{job.job_id}",
            type="tertiary",
            disabled=is_current,
        ):
            st.query_params["job"] = job.job_id
            st.rerun(scope="app")
        st.html(
            f"<p class=fs-note style='padding:0'>{state_chip(job)} {escape(' · '.join(about))}</p>"
        )


def when(at: float) -> str:
    """The time today, else the day too."""
    then = time.localtime(at)
    is_today = time.strftime("%F", then) == time.strftime("%F")
    return time.strftime("%H:%M" if is_today else "%d %b %H:%M", then)
