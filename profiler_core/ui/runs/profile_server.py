"""Profiling a running vLLM or SGLang from the page: its address, how long, and on to the job."""

import streamlit as st

from profiler_core.door.asker import why_no_capture
from profiler_core.door.servers import may_name_any_server, start_server_profile
from profiler_core.errors import FusionscopeError
from profiler_core.settings import FILE, settings
from profiler_core.ui.links import go_to
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.sign_in.asker import asker


def profile_server() -> None:
    """A form; pressed, the server is profiled by a job, and page Jobs is shown."""
    who = asker()
    refusal = why_no_capture(who)
    if refusal is not None or who is None:
        st.html(f"<p class=fs-note>{refusal}</p>")
        return
    may_type, names = may_name_any_server(who), tuple(settings().servers)
    if not names and not may_type:
        st.html(
            "<p class=fs-note>No inference server is named here: whoever runs this server can name "
            f"some as [servers] in {FILE}.</p>"
        )
        return
    with st.form("profile_server", border=False):
        name = st.selectbox(
            "Server",
            names,
            index=None,
            accept_new_options=may_type,
            placeholder="http://localhost:8000" if may_type else "Choose one",
            help="vLLM started with --profiler-config, or SGLang; send it requests meanwhile.",
        )
        traces = ""
        if may_type:
            traces = st.text_input(
                "Where it writes its traces",
                placeholder="/traces, user@host:/traces or s3://bucket/traces",
                help="The folder that it was started with; of a named server as the settings say.",
                max_chars=4096,
            )
        seconds = st.number_input("Seconds", 1.0, 600.0, 5.0, step=1.0, width=130)
        pressed = st.form_submit_button("Profile it")
    if not pressed:
        return
    try:
        start_server_profile(who, name or "", traces, seconds)
    except FusionscopeError as error:
        problem_card(error.problem, error.remedy)
        return
    go_to("jobs")
