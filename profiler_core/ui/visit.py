"""What a page keeps from run to run, until another page is opened or the tab is closed."""

from typing import Any

import streamlit as st

_PAGE = "fs_visit_page"
_KEPT = "fs_visit_kept"


def begin_visit(page: str) -> None:
    """Forget what the page before kept, where this run is another page's."""
    if st.session_state.get(_PAGE) != page:
        st.session_state[_PAGE] = page
        st.session_state[_KEPT] = None


def keep(value: Any) -> None:
    """Keep a value in place of the one before; None: no longer any."""
    st.session_state[_KEPT] = value


def kept() -> Any:
    """What this visit keeps; None: nothing."""
    return st.session_state.get(_KEPT)
