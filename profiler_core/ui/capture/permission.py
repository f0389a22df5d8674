"""May this visitor start a capture? It runs code on this machine (design section 8)."""

import streamlit as st

from profiler_core.settings import FILE, settings
from profiler_core.ui.server import is_local_server


def why_no_capture() -> str | None:
    """The sentence that says why not; None where captures may be started."""
    if is_local_server():
        return None
    if not settings().allow_capture:
        return (
            "Other machines can reach this server, and a capture runs code on it, so captures "
            f"are switched off here. Whoever runs the server can set allow_capture in {FILE}."
        )
    if not signed_in_as():
        return "Captures run code on this server: sign in first."
    return None


def signed_in_as() -> str | None:
    """The name or address of who signed in; None on a server without sign-in."""
    if not getattr(st.user, "is_logged_in", False):
        return None
    return str(st.user.get("email") or st.user.get("name") or "somebody")
