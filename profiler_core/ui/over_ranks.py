"""The groups of a job on all ranks: which are slower on one rank only."""

import streamlit as st

from profiler_core.analysis.ranks.job_ledger import JobLedger
from profiler_core.analysis.rows.one_rank import one_rank_table
from profiler_core.analysis.wording.sentence import of_run
from profiler_core.session.pair import Pair
from profiler_core.ui.choice import Choice
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.table import show_table

_MOST = 12


def show_over_ranks(pair: Pair) -> None:
    """Rows of what one rank needs longer for; nothing where the runs are no jobs of ranks."""
    if any(run.job is None for run in pair.runs) or pair.not_explained is not None:
        return
    job = pair.job_ledger
    if job is None or len(job.ranks) < 2:
        return
    section("Over the ranks", f"{pair.labels[0]} and {pair.labels[1]}: {_said(job)}")
    table = one_rank_table(job, pair.labels, _MOST, pair.number + 1)
    if table.rows:
        show_table(table, "fs-detail fs-parts")
    else:
        st.html("<p class=fs-note>No group is slower on one rank only.</p>")
    show_notes(job.notes)


def _said(job: JobLedger) -> str:
    ranks = "all" if len(job.ranks) == job.n_ranks else f"{len(job.ranks)} of {job.n_ranks}"
    return (
        f"what the groups take on {ranks} ranks, each kernel as it costs with no collective beside "
        "it, if it ever runs so. A group is slower on one rank only where no other is nearly as "
        "slow."
    )


def notes_of_one_rank(choice: Choice) -> list[str]:
    """Of each chosen run that is one rank of several alone, that its times are."""
    runs = zip(choice.labels, choice.comparison.runs, strict=True)
    return [of_run(label, note) for label, run in runs if (note := run.alone_note)]
