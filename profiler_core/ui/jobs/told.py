"""What a job printed and why it failed: for whose it is, and admins.

Everybody may see that a capture or an experiment runs, and its runs once there are any; what code
printed that never made a run may hold what its person alone should read.
"""

import streamlit as st

from profiler_core.door import deeds
from profiler_core.jobs import service as jobs
from profiler_core.jobs.service import Job
from profiler_core.ui.printed import show_printed
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.sign_in.asker import asker


def show_problem(job: Job, *, error: str, remedy: str) -> None:
    """The job's problem and remedy.

    Args:
        job: it ended badly.
        error: where it says none.
        remedy: likewise.
    """
    if _may_see(job):
        problem_card(job.error or error, job.remedy or remedy)
    else:
        st.html("<p class=fs-note>It failed; who started it sees why.</p>")


def reason_of(job: Job) -> str:
    """Why it was cancelled, and what can be done; "" where its person did that, and for others."""
    return f"{job.error} {job.remedy or ''}".rstrip() if job.error and _may_see(job) else ""


def show_log(job: Job, *, is_open: bool = False) -> None:
    """The last lines that it printed, and a button that downloads all.

    Args:
        job: which.
        is_open: show the lines at once, without a title.
    """
    if _may_see(job):
        show_printed(
            jobs.log_path(job.job_id),
            title="What it printed last",
            key=f"fs_log_{job.job_id}",
            is_open=is_open,
            about=job,
        )


def _may_see(job: Job) -> bool:
    who = asker()
    return who is not None and deeds.may_see(who, job)
