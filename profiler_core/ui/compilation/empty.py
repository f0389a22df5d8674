"""What the page about compiling shows where no chosen run has a log."""

import streamlit as st

from profiler_core.ui.choice import Choice
from profiler_core.ui.links import page_link

_TEXT = """<div class=fs-empty>
<h1 class=fs-verdict>None of the chosen runs has a log of the compiler</h1>
<p class=fs-sub>A capture keeps them by itself. For a run from elsewhere, start it with</p>
<p><code>TORCH_LOGS="graph_breaks,recompiles,perf_hints,cudagraphs" TORCH_TRACE=logs/
python train.py 2&gt; torch_logs.txt</code></p>
<p class=fs-sub>and drop torch_logs.txt and the files in logs/ on the page Runs, with or without a
trace.</p></div>"""


def show_nothing_said(choice: Choice) -> None:
    """Say how to get logs, and lead on."""
    st.html(_TEXT)
    with st.container(horizontal=True, gap="medium"):
        page_link("runs", "Upload logs", choice.query)
        page_link("capture", "Start a capture", choice.query)
