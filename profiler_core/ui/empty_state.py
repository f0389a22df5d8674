"""What a page shows while there is no run at all."""

import streamlit as st

from profiler_core.ui.links import page_link

_FIRST_STEPS = """<div class=fs-empty>
<h1 class=fs-verdict>Is torch.compile worth it for your model?</h1>
<p class=fs-sub>This page answers that from measurements. There are none on this machine yet.</p>
<ol>
<li>Capture eager against compiled, here or on a command line:<br>
<code>python -m profiler_core capture resnet50 --variants eager,default,reduce-overhead</code></li>
<li>Or bring traces of torch.profiler that you have already: drop two files on the page Runs.</li>
</ol></div>"""


def nothing_yet() -> None:
    """Say what would be here, and the two ways to get it."""
    st.html(_FIRST_STEPS)
    with st.container(horizontal=True, gap="medium"):
        page_link("capture", "Start a capture")
        page_link("runs", "Upload traces")
