"""The door in front of every page: nobody gets past it who has not signed in where that is asked.

The entry script calls it before it knows of any page, and every page calls it again, because
Streamlit may run a page file without the entry script when a cold link is opened. What Streamlit
runs without the page around it asks again by itself: parts of a page (`fragment`), files that are
made when a button is clicked (`ui/download.py`), and callbacks that change something (`who_may`).
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from profiler_core.errors import FusionscopeError
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.sign_in import wanted
from profiler_core.ui.sign_in.card import no_role_card, sign_in_card
from profiler_core.ui.sign_in.deeds import note_sign_in
from profiler_core.ui.sign_in.roles import Deed
from profiler_core.ui.sign_in.visitor import Visitor, visitor
from profiler_core.ui.style import write_style_sheet

_P = ParamSpec("_P")


def let_in() -> Visitor:
    """The visitor, who may look; anybody else sees a card, and the script ends here."""
    try:
        who = visitor()
    except FusionscopeError as error:
        problem_card(error.problem, error.remedy)
        st.stop()
    if who is None or not who.may("look"):
        write_style_sheet()
        if who is None:
            wanted.remember()
            sign_in_card()
        else:
            no_role_card(who)
        st.stop()
    try:
        note_sign_in(who)
    except FusionscopeError as error:  # it can be recorded nowhere
        problem_card(error.problem, error.remedy)
        st.stop()
    return who


def fragment(part: Callable[_P, None], *, run_every: float | None = None) -> Callable[_P, None]:
    """A part of a page that Streamlit runs alone, for who may look at that moment.

    An open page of somebody who was let in and may not look any more becomes the card.

    Args:
        part: draws it.
        run_every: in seconds; None: only when one of its widgets is used.
    """

    @wraps(part)
    def asked(*arguments: _P.args, **named: _P.kwargs) -> None:
        if who_may("look") is not None:
            part(*arguments, **named)
        else:
            st.rerun(scope="app")

    return st.fragment(asked, run_every=run_every)


def who_may(deed: Deed) -> Visitor | None:
    """The visitor, who may do this at this moment; None: nobody is signed in, or this role may not.

    For callbacks, which Streamlit runs before the page, and for what is drawn for some roles only.
    """
    try:
        who = visitor()
    except FusionscopeError:  # settings that cannot be read; the page says so
        return None
    return who if who is not None and who.may(deed) else None
