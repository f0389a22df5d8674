"""The form that makes a token, and the one visit in which its secret is shown."""

import streamlit as st

from profiler_core.errors import FusionscopeError
from profiler_core.store.history.api_tokens import LONGEST_DAYS, make_token, token
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.sign_in.by_token import SCOPES, scopes_for
from profiler_core.ui.sign_in.visitor import Visitor, visitor
from profiler_core.ui.visit import keep, kept

_USUAL_DAYS = 90
_WIDTH_PX = 640


def ask_for_token() -> None:
    """Draw the form; a token made here is shown below it until the person leaves or closes it."""
    who = visitor()
    if who is None or not who.holder:
        st.html(
            "<p class=fs-note>An API token lets CI and agents use a team's server in the name of "
            "whoever made it. Nobody signs in here, so there are none: on your own machine the "
            "command line and agents need no token. docs/deploy.md says how to set up a server "
            "for a team.</p>"
        )
        return
    offered = scopes_for(who)
    with st.form("fs_make_token", width=_WIDTH_PX):
        name = st.text_input("Name", max_chars=100, placeholder="Nightly CI of bert")
        scopes = st.pills(
            "Scopes", offered, selection_mode="multi", default=offered[:1],
            help="\n\n".join(f"**{scope}**: {SCOPES[scope].means}." for scope in offered),
        )  # fmt: skip
        days = st.number_input(
            "Days until it expires", min_value=1, max_value=LONGEST_DAYS, value=_USUAL_DAYS
        )
        is_wanted = st.form_submit_button("Make the token", type="primary")
    if is_wanted:
        _make(who, name, scopes, int(days))
    _show_new(who)


def _make(who: Visitor, name: str, scopes: list[str], days: int) -> None:
    try:
        # Asked again: the role may have changed since the form was drawn.
        allowed = [scope for scope in scopes if scope in scopes_for(who)]
        made, secret = make_token(who.person, name, allowed, days=days)
    except FusionscopeError as error:
        problem_card(error.problem, error.remedy)
        return
    keep((made.token_id, secret))


def _show_new(who: Visitor) -> None:
    """Runs of the page lose nothing: one comes with each switch of the theme."""
    if kept() is None:
        return
    token_id, secret = kept()
    new = token(token_id)
    if new is None or new.state != "active" or new.person != who.person:
        keep(None)
        return
    with st.container(border=True, width=_WIDTH_PX, key="fs_new_token"):
        st.html(
            "<p class=fs-note><b>Copy the token now: it is gone once you leave this page.</b> It "
            f"is valid until {new.expires_at[:10]}. Keep it with your other secrets, and pass it "
            "to programs in the environment variable FUSIONSCOPE_TOKEN.</p>"
        )
        st.code(secret, language=None, wrap_lines=True)
        st.button("I have copied it", key="fs_new_token_close", on_click=keep, args=(None,))
