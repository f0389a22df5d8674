"""What the memory page shows where no chosen run says anything about memory."""

import streamlit as st

from profiler_core.ui.choice import Choice
from profiler_core.ui.links import page_link

_TEXT = """<div class=fs-empty>
<h1 class=fs-verdict>None of the chosen runs says anything about memory</h1>
<p class=fs-sub>A capture on a GPU keeps it by itself. Record a trace of your own with</p>
<p><code>torch.profiler.profile(profile_memory=True, record_shapes=True)</code></p>
<p class=fs-sub>and for segments, pools and source lines keep a snapshot of a few steps:</p>
<p><code>torch.cuda.memory._record_memory_history(stacks="python")</code><br>
<code>torch.cuda.memory._dump_snapshot("memory_snapshot.pickle")</code></p></div>"""


def show_nothing_said(choice: Choice) -> None:
    """Say how to get it, and lead on."""
    st.html(_TEXT)
    with st.container(horizontal=True, gap="medium"):
        page_link("runs", "Upload a snapshot", choice.query)
        page_link("capture", "Start a capture", choice.query)
