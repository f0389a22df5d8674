"""The door in front of every page: nobody gets past it who has not signed in where that is asked.

The entry script calls it before it knows of any page, and every page calls it again, because
Streamlit may run a page file without the entry script when a cold link is opened.
"""

import streamlit as st

from profiler_core.errors import FusionscopeError
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.sign_in import wanted
from profiler_core.ui.sign_in.card import no_role_card, sign_in_card
from profiler_core.ui.sign_in.deeds import note_sign_in
from profiler_core.ui.sign_in.visitor import Visitor, visitor
from profiler_core.ui.style import write_style_sheet


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
