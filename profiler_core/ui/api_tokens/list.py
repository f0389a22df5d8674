"""The tokens that there are: one's own, and for admins everybody's."""

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from profiler_core.store import history
from profiler_core.store.history.api_tokens import ApiToken, revoke_token, token, tokens
from profiler_core.ui.page import section
from profiler_core.ui.sign_in.guard import who_may
from profiler_core.ui.sign_in.visitor import Visitor, visitor

_MOST_OLD = 20


def show_tokens() -> None:
    """Draw them: those that open something with a button each, the others as a list."""
    who = visitor()
    if who is None or not who.holder:
        return
    section("Your tokens")
    _show(tokens(who.person), {})
    if not who.may("delete"):
        return
    others = [each for each in tokens() if each.person != who.person]
    if others:
        section("Tokens of others", "As an admin you may revoke them.")
        _show(others, history.names_of({each.person for each in others}))


def may_revoke(who: Visitor | None, revoked: ApiToken) -> bool:
    """One's own; those of others only as an admin."""
    return who is not None and bool(who.holder) and (
        who.person == revoked.person or who.may("delete")
    )  # fmt: skip


def _show(shown: Sequence[ApiToken], names: Mapping[str, str]) -> None:
    if not shown:
        st.html("<p class=fs-note>None yet.</p>")
        return
    for each in shown:
        if each.state == "active":
            with st.container(
                horizontal=True, vertical_alignment="center", key=f"fs_token_{each.token_id}"
            ):
                st.html(_row(each, names.get(each.person, "")), width="stretch")
                st.button(
                    "Revoke", key=f"fs_revoke_{each.token_id}", on_click=_revoke,
                    args=(each.token_id,),
                )  # fmt: skip
    old = [each for each in shown if each.state != "active"]
    for each in old[:_MOST_OLD]:
        st.html(_row(each, names.get(each.person, "")))
    if len(old) > _MOST_OLD:
        st.html(f"<p class=fs-note>And {len(old) - _MOST_OLD} older ones that no longer work.</p>")


def _row(shown: ApiToken, name: str) -> str:
    used = f"last used {_minute(shown.last_used_at)}" if shown.last_used_at else "never used"
    if shown.state == "revoked":
        end = f"revoked {_minute(shown.revoked_at or '')}"
    else:
        end = f"{'expires' if shown.state == 'active' else 'expired'} {shown.expires_at[:10]}"
    facts = (
        ", ".join(shown.scopes), f"made {shown.made_at[:10]}", end, used,
        f"fsc_{shown.token_id}_…",
    )  # fmt: skip
    whose = f" of {escape(name)}" if name else ""
    return f"<p class=fs-note><b>{escape(shown.name)}</b>{whose}<br>{escape(' · '.join(facts))}</p>"


def _minute(moment: str) -> str:
    return f"{moment[:10]} {moment[11:16]} UTC"


def _revoke(token_id: str) -> None:
    who = who_may("look")
    if who is not None and may_revoke(who, token(token_id)):  # asked again: roles change
        revoke_token(token_id, person=who.person)
