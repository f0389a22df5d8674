"""Page: who did what on this server? For admins."""

import streamlit as st

from profiler_core.ui.activity.entries import show_entries
from profiler_core.ui.page import page
from profiler_core.ui.sign_in.visitor import visitor

with page("Activity", "Who captured, uploaded, deleted and signed what?"):
    who = visitor()
    if who is None or not who.may("audit"):
        st.html("<p class=fs-note>Only an admin of this server sees this page.</p>")
    else:
        show_entries()
