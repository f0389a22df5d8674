"""What somebody sees who is not let in, and the small menu of somebody who is."""

import logging
from html import escape

import streamlit as st

from profiler_core.errors import FusionscopeError
from profiler_core.home import home_directory
from profiler_core.settings import FILE
from profiler_core.ui.links import plain_label
from profiler_core.ui.sign_in.deeds import note_sign_out
from profiler_core.ui.sign_in.ended import end
from profiler_core.ui.sign_in.needed import is_provider_known
from profiler_core.ui.sign_in.visitor import Visitor

_log = logging.getLogger(__name__)

_WIDTH_PX = 440
_MEANING = {
    "viewer": "You may see every run, and write and sign in reviews.",
    "runner": "You may also capture, upload, tag runs and set baselines.",
    "admin": "You may also delete what others made, and see who did what.",
}


def sign_in_card() -> None:
    """Ask to sign in; says nothing about what there is."""
    with st.container(border=True, width=_WIDTH_PX, key="fs_sign_in"):
        st.html("<h1 class=fs-title>Fusionscope</h1>")
        if not is_provider_known():
            st.html(
                "<p class=fs-sub>This server is for a team, but it does not know where to sign in."
                "</p><p class=fs-note>Whoever runs it adds [auth] with the OpenID provider to "
                "Streamlit's secrets.toml (docs/deploy.md).</p>"
            )
            return
        st.html("<p class=fs-sub>Runs of your team. Sign in to see them.</p>")
        if st.button("Sign in", type="primary", key="fs_do_sign_in"):
            st.login()


def no_role_card(who: Visitor) -> None:
    """Signed in, but a stranger here: a provider may know the whole world."""
    with st.container(border=True, width=_WIDTH_PX, key="fs_sign_in"):
        st.html(
            "<h1 class=fs-title>You have no role here</h1>"
            f"<p class=fs-sub>{escape(who.shown_name)} is signed in, but nobody gave this account "
            "a role on this server.</p>"
            f"<p class=fs-note>Ask whoever runs it to add you to [team] in {FILE}.</p>"
        )
        _sign_out_button(who)


def signed_in_menu(who: Visitor) -> None:
    """Name, role and the way out, in the sidebar; nothing where nobody signs in."""
    if not who.holder or who.role is None:
        return
    with (
        st.sidebar.container(key="fs_signed_in"),
        st.popover(plain_label(who.name), icon=":material/person:", type="tertiary"),
    ):
        st.html(
            f"<p class=fs-note><b>{escape(who.shown_name)}</b><br>Role: {who.role}. "
            f"{_MEANING[who.role]}</p>"
        )
        _sign_out_button(who)


def _sign_out_button(who: Visitor) -> None:
    if st.button("Sign out", key="fs_sign_out"):
        try:
            note_sign_out(who)
            end(who.holder)
        except (FusionscopeError, OSError) as error:  # this browser forgets it all the same
            _log.error(
                "A sign-out cannot be written into %s (%s): copies of that sign-in's cookie "
                "stay good until they expire.", home_directory(), error,
            )  # fmt: skip
        st.logout()
