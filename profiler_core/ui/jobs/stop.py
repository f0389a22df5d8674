"""The button that stops a job, wherever the job is shown."""

import streamlit as st

from profiler_core.door import deeds
from profiler_core.errors import FusionscopeError
from profiler_core.jobs.service import Job
from profiler_core.ui.links import plain_label
from profiler_core.ui.sign_in.asker import asker


def cancel_button(job: Job) -> None:
    """Draw it; who may not stop the job cannot press it."""
    who = asker()
    may = who is not None and deeds.may_cancel(who, job)
    st.button(
        "Cancel",
        key=f"fs_cancel_{job.job_id}",
        on_click=_cancel,
        args=(job.job_id,),
        disabled=job.cancel_requested or not may,
    )


def _cancel(job_id: str) -> None:
    # Asks again for the right: the role may have changed since it was drawn.
    try:
        deeds.cancel_job(asker(), job_id)
    except FusionscopeError as error:
        st.toast(plain_label(error.problem))
