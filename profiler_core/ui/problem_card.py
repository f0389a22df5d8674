"""How a problem looks on a page: what happened, what to do; never a traceback."""

import logging
import re
import secrets
import time
from pathlib import Path

import streamlit as st

import profiler_core
from profiler_core.errors import FusionscopeError

_log = logging.getLogger(__name__)
_STARTED_AT = time.time()
_CODE = re.compile(r"(`[^`\n]+`)")


def problem_card(problem: str, remedy: str) -> None:
    """Draw one card: the problem in bold, the remedy below."""
    with st.container(border=True):
        # Escaped: file and kernel names come from traces, which are untrusted.
        st.markdown(f":material/error: **{with_code(problem)}**")
        st.caption(with_code(remedy))


# What fails where a page of the new version calls modules of the old one: names, and arguments.
_OF_TWO_VERSIONS = (ImportError, AttributeError, NameError, TypeError)


def show_script_error(error: Exception) -> bool:
    """The handler of `st.App` for whatever a page did not catch itself.

    Returns:
        True: Streamlit's own box with the traceback stays away.
    """
    if isinstance(error, FusionscopeError):
        problem_card(error.problem, error.remedy)
        return True
    if isinstance(error, _OF_TWO_VERSIONS) and code_changed():
        problem_card(
            "The code of Fusionscope changed while this server was running.",
            "Restart the server (end it with Ctrl+C and start it again), then reload this page.",
        )
        return True
    number = secrets.token_hex(3)
    _log.error("page failed, shown to the user as %s", number, exc_info=error)
    problem_card(
        f"This page stopped: {type(error).__name__} (error {number}).",
        "Reload it; if it comes back, report the number and the server's log around it.",
    )
    return True


def code_changed(
    since: float = _STARTED_AT, folder: Path = Path(profiler_core.__file__).parent
) -> bool:
    """Is a module of ours newer than this process, which then holds parts of both versions?"""
    return any(path.stat().st_mtime > since for path in folder.rglob("*.py"))


def with_code(sentence: str) -> str:
    """Text that Markdown leaves alone, but for code between backticks."""
    parts = _CODE.split(sentence)
    return "".join(
        part if number % 2 else escape_markdown(part) for number, part in enumerate(parts)
    )


def escape_markdown(text: str) -> str:
    """Text that Markdown leaves alone."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]()#+-.!|<>~$:" else c for c in text)
