"""Opening what lies on the server: for files too big to upload, below the folders allowed."""

from pathlib import Path

import streamlit as st

from profiler_core.analysis.compilation.by_script import is_called_eager
from profiler_core.errors import FusionscopeError
from profiler_core.store import library, server_path
from profiler_core.store.library import Entry
from profiler_core.ui.choice import choose, query_of
from profiler_core.ui.links import go_to
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.server import is_local_server


def open_by_path(page: str = "overview") -> None:
    """A line for each of two paths; opening switches to this page."""
    allowed = server_path.roots(is_local=is_local_server())
    if not allowed:
        st.html(
            "<p class=fs-note>Opening files by their path is off on this server: its owner can "
            "name folders as open_below in settings.toml.</p>"
        )
        return
    with st.form("open_by_path", border=False):
        first = st.text_input(
            "Run, trace, or folder of a capture or of rank traces",
            placeholder=f"{allowed[0]}/…",
            max_chars=4096,
        )
        second = st.text_input(
            "Compare with (optional)", placeholder="another run or trace", max_chars=4096
        )
        pressed = st.form_submit_button("Open")
    if pressed:
        try:
            keys = _keys(first, allowed) + (_keys(second, allowed) if second.strip() else ())
        except FusionscopeError as error:
            problem_card(error.problem, error.remedy)
            return
        choose(keys)
        go_to(page, query_of(keys))


def _keys(text: str, allowed: tuple[Path, ...]) -> tuple[str, ...]:
    path = server_path.resolve(text, allowed)
    entries = [
        library.at_path(server_path.resolve_run(str(run), allowed))
        for run in server_path.runs_below(path)
    ]
    return tuple(entry.key for entry in sorted(entries, key=_comes_later))


def _comes_later(entry: Entry) -> bool:
    """Is it no baseline? By its role; without one, by a name that says eager."""
    if entry.run.role is None:
        return not is_called_eager("", entry.run)
    return entry.run.role != "baseline"
