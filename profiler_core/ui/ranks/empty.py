"""What the page shows where no chosen run has several ranks."""

from html import escape

import streamlit as st

from profiler_core.ui.choice import Choice
from profiler_core.ui.links import page_link
from profiler_core.ui.ranks.data import Seen


def show_one_rank(choice: Choice, seen: Seen) -> None:
    """Say why there is nothing, and the ways to get several ranks."""
    reasons = "".join(f"<p class=fs-sub>{escape(sentence)}</p>" for sentence in seen.without)
    st.html(
        "<div class=fs-empty><h1 class=fs-verdict>These runs have one rank each</h1>"
        f"{reasons}<p class=fs-sub>This page shows who waits for whom among the GPUs of a "
        "distributed job, how much communication hides behind compute, and what compiling "
        "changed for all of them.</p><ol>"
        "<li>Capture a distributed job, eager against compiled, on this machine's GPUs:<br>"
        "<code>python -m profiler_core capture ddp --ranks 2 --variants eager,default</code></li>"
        "<li>Or drop a .zip with one trace of each rank on the page Runs.</li></ol></div>"
    )
    with st.container(horizontal=True, gap="medium"):
        page_link("capture", "Start a capture", choice.query)
        page_link("runs", "Upload traces", choice.query)
