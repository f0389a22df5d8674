"""Widgets whose value lies in the address of the page, so that a link opens what somebody sees.

Streamlit binds them (`bind="query-params"`): a value in the address sets the widget, also with the
back button; one that is no option is ignored; a default is left out. It is the browser that writes
a change into the address, and it forgets to where the same widget was drawn at another place in
the run before: the old one, cleared away last, takes the binding of the new one with it
(Streamlit 1.67, `unregisterQueryParamBinding`). So what may come and go above a widget is drawn in
a place of its own, and what is still missing from the address is written by the server.
"""

from collections.abc import Sequence
from typing import Literal, TypedDict

import streamlit as st

Value = str | int | Sequence[str] | None


class Bound(TypedDict):
    """Arguments of a widget that is bound to the address."""

    key: str
    bind: Literal["query-params"]


def in_address(name: str, default: Value = None) -> Bound:
    """Bind the widget that is about to be drawn: `st.pills(..., **in_address("axis", "By date"))`.

    Args:
        name: of the parameter; unique on the page.
        default: the widget's own, where it has one: a text, a choice of one, or several.
    """
    if name in st.session_state:
        value = st.session_state[name]
        in_state = [] if _texts(value) == _texts(default) else _texts(value)
        if in_state != st.query_params.get_all(name):
            # A value that is set anew is written into the address. After a step back or forth it
            # is the old one, and Streamlit prefers what the address says.
            st.session_state[name] = value
    return {"key": name, "bind": "query-params"}


def _texts(value: Value) -> list[str]:
    """As the address has them; nothing chosen and an empty text are the same."""
    if value is None or value == "":
        return []
    return [str(value)] if isinstance(value, str | int) else list(value)
