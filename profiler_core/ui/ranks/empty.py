"""What the page shows where no chosen run has several ranks."""

from html import escape

import streamlit as st

from profiler_core.store import library
from profiler_core.ui.choice import Choice, query_of
from profiler_core.ui.links import page_link
from profiler_core.ui.notes import show_notes
from profiler_core.ui.ranks.data import Seen
from profiler_core.ui.ranks.hta import show_counters

_MOST_LINKS = 4


def show_one_rank(choice: Choice, chosen: Seen) -> None:
    """Say why there is nothing, and the ways to get several ranks."""
    reasons = "".join(f"<p class=fs-sub>{escape(sentence)}</p>" for sentence in chosen.without)
    st.html(
        "<div class=fs-empty><h1 class=fs-verdict>These runs have one rank each</h1>"
        f"{reasons}<p class=fs-sub>This page shows who waits for whom among the GPUs of a "
        "distributed job, how much communication hides behind compute, and what compiling "
        "changed for all of them.</p><ol>"
        "<li>Capture a distributed job, eager against compiled, on this machine's GPUs:<br>"
        "<code>python -m profiler_core capture ddp --ranks 2 --variants eager,default</code></li>"
        "<li>Or open one trace of each rank of your own job, below.</li></ol></div>"
    )
    with st.container(horizontal=True, gap="medium"):
        page_link("capture", "Start a capture", choice.query)
        for title, keys in _jobs_here()[:_MOST_LINKS]:
            page_link("ranks", f"Look at {title}", query_of(keys))


def show_unreadable(chosen: Seen) -> None:
    """No rank of any job has times of GPU work: why not, and the counters that may be there."""
    st.html("<h1 class=fs-verdict>No rank has GPU times to show</h1>")
    show_notes(
        f"{job_seen.label}: {note}" for job_seen in chosen.jobs for note in job_seen.job.notes
    )
    show_counters(chosen.jobs)


def _jobs_here() -> list[tuple[str, tuple[str, ...]]]:
    """(title, keys) of the comparisons whose runs have several ranks."""
    return [
        (f"{group.title} ({group.origin})", tuple(entry.key for entry in group.entries))
        for group in library.comparisons()
        if any(entry.run.world_size > 1 for entry in group.entries)
    ]
