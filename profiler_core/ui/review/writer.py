"""Whose name stands under what is written: of the sign-in, else the one that was typed."""

import streamlit as st

from profiler_core.errors import BadInput
from profiler_core.person import typed_name
from profiler_core.ui.sign_in.visitor import visitor

_TYPED, _KEPT = "fs_rv_typed_name", "fs_rv_name"


def ask_for_name() -> None:
    """A field for the name, where nobody signs in; once on a page."""
    who = visitor()
    if who is None or who.holder:
        return
    # Kept apart: a widget's own state dies with its page.
    st.session_state[_TYPED] = st.session_state.get(_KEPT, who.person)
    st.text_input(
        "Your name",
        key=_TYPED,
        max_chars=100,
        on_change=_keep,
        help="It is shown with everything you write.",
    )


def writer() -> str:
    """The name; empty while none was typed, which the history refuses in words.

    Raises:
        BadInput: this visitor may not write, or is not signed in any more.
    """
    who = visitor()
    if who is None or not who.may("review"):
        raise BadInput("You are not signed in any more.", remedy="Reload the page, and sign in.")
    return who.person if who.holder else typed_name(str(st.session_state.get(_KEPT, who.person)))


def may_delete(person: str) -> bool:
    """A review goes by the hand of who began it, or of an admin."""
    who = visitor()
    return who is not None and who.may_remove(person, "review")


def _keep() -> None:
    st.session_state[_KEPT] = st.session_state[_TYPED]
