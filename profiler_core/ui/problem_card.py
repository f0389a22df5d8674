"""How a problem looks on a page: what happened, what to do; never a traceback."""

import logging
import secrets

import streamlit as st

from profiler_core.errors import FusionscopeError

_log = logging.getLogger(__name__)


def problem_card(problem: str, remedy: str) -> None:
    """Draw one card: the problem in bold, the remedy below."""
    with st.container(border=True):
        # Escaped: file and kernel names come from traces, which are untrusted.
        st.markdown(f":material/error: **{escape_markdown(problem)}**")
        st.caption(escape_markdown(remedy))


def show_script_error(error: Exception) -> bool:
    """The handler of `st.App` for whatever a page did not catch itself.

    Returns:
        True: Streamlit's own box with the traceback stays away.
    """
    if isinstance(error, FusionscopeError):
        problem_card(error.problem, error.remedy)
        return True
    number = secrets.token_hex(3)
    _log.error("page failed, shown to the user as %s", number, exc_info=error)
    problem_card(
        f"This page stopped: {type(error).__name__} (error {number}).",
        "Reload it; if it comes back, report the number and the server's log around it.",
    )
    return True


def escape_markdown(text: str) -> str:
    """Text that Markdown leaves alone."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]()#+-.!|<>~$:" else c for c in text)
