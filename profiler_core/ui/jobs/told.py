"""What a job printed and why it failed: for whose it is, and admins.

Everybody may see that a capture or an experiment runs, and its runs once there are any; what code
printed that never made a run may hold what its person alone should read.
"""

from collections.abc import Sequence

import streamlit as st

from profiler_core.door import deeds
from profiler_core.jobs import service as jobs
from profiler_core.jobs.service import Job
from profiler_core.store.library import Entry
from profiler_core.ui.printed import show_logs_of_failed, show_printed
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.sign_in.asker import asker


def show_problem(job: Job, *, error: str, remedy: str) -> None:
    """The job's problem and remedy.

    Args:
        job: it ended badly.
        error: where it says none.
        remedy: likewise.
    """
    if may_see(job):
        problem_card(job.error or error, job.remedy or remedy)
    else:
        st.html("<p class=fs-note>It failed; who started it sees why.</p>")


def reason_of(job: Job) -> str:
    """Why it was cancelled, and what can be done; "" where its person did that, and for others."""
    return f"{job.error} {job.remedy or ''}".rstrip() if job.error and may_see(job) else ""


def show_log(job: Job, *, is_open: bool = False) -> None:
    """The last lines that it printed, and a button that downloads all.

    Args:
        job: which.
        is_open: show the lines at once, without a title.
    """
    if may_see(job):
        show_printed(
            jobs.log_path(job.job_id),
            title="What it printed last",
            key=f"fs_log_{job.job_id}",
            is_open=is_open,
            about=job,
        )


def show_logs_of_its_failed(job: Job, entries: Sequence[Entry]) -> None:
    """What those of its runs printed that failed, and torch's log of each.

    Args:
        job: a capture.
        entries: its runs.
    """
    if may_see(job):
        for entry in entries:
            show_logs_of_failed(entry, entry.variant, before=f"fs_failed_{job.job_id}", about=job)


def may_see(job: Job) -> bool:
    """May whoever looks at the page see what the job printed, and what it was asked for?"""
    who = asker()
    return who is not None and deeds.may_see(who, job)
