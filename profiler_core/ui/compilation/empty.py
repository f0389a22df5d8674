"""What the page about compiling shows where no chosen run has a log, or only empty ones."""

import streamlit as st

from profiler_core.ui.choice import Choice
from profiler_core.ui.links import page_link

_NO_LOG = """<h1 class=fs-verdict>None of the chosen runs has a log of the compiler</h1>
<p class=fs-sub>A capture keeps them by itself. For a run from elsewhere, start it with</p>"""
_EMPTY_LOG = """<h1 class=fs-verdict>The logs of the chosen runs say nothing about compiling</h1>
<p class=fs-sub>They hold no graph break, no recompile and no compilation: nothing was compiled, or
the run was not told to write them down. Start it with</p>"""
_HOW = """<p><code>TORCH_LOGS="graph_breaks,recompiles,perf_hints,cudagraphs" TORCH_TRACE=logs/
python train.py 2&gt; torch_logs.txt</code></p>
<p class=fs-sub>and drop torch_logs.txt and the files in logs/ on the page Runs, with or without a
trace.</p></div>"""


def show_nothing_said(choice: Choice) -> None:
    """Say why there is nothing and how to get logs, and lead on."""
    runs = [run.files for run in choice.comparison.runs]
    has_log = any(run.torch_logs or run.torch_trace for run in runs)
    st.html(f"<div class=fs-empty>{_EMPTY_LOG if has_log else _NO_LOG}{_HOW}")
    with st.container(horizontal=True, gap="medium"):
        page_link("runs", "Upload logs", choice.query)
        page_link("capture", "Start a capture", choice.query)
