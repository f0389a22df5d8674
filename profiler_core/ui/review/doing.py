"""A click that writes into a review: what it met is shown once, on the run after it."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from profiler_core.errors import FusionscopeError
from profiler_core.ui.links import plain_label
from profiler_core.ui.problem_card import problem_card

_PROBLEM, _DONE = "fs_rv_problem", "fs_rv_done"


@contextmanager
def told(done: str) -> Iterator[None]:
    """Around what a callback does; an error becomes a card, success a toast.

    Args:
        done: what to say when it went well.
    """
    try:
        yield
    except FusionscopeError as error:
        st.session_state[_PROBLEM] = (error.problem, error.remedy)
    else:
        st.session_state[_DONE] = done


def tell() -> None:
    """Show what the last click met."""
    problem = st.session_state.pop(_PROBLEM, None)
    if problem:
        problem_card(*problem)
    message = st.session_state.pop(_DONE, None)
    if message and not problem:
        st.toast(plain_label(message))
