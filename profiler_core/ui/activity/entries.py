"""The audit as a table, narrowed down by person and deed."""

import streamlit as st

from profiler_core.store import history
from profiler_core.store.history.audit import words_of
from profiler_core.ui.address import in_address

_MOST = 500
_FIT = 17  # rows that need no scrolling of their own


def show_entries() -> None:
    """Draw it, the newest first."""
    people, actions = words_of()
    names = history.names_of(people)
    with st.container(horizontal=True, gap="medium"):
        person = st.selectbox(
            "Person", people, index=None, placeholder="Anybody", width=260,
            format_func=names.__getitem__,
            **in_address("person"),
        )  # fmt: skip
        action = st.selectbox(
            "Deed", actions, index=None, placeholder="Any", width=220, **in_address("deed"),
        )  # fmt: skip
    entries = history.entries(_MOST, person=person, action=action)
    if not entries:
        st.html("<p class=fs-note>Nothing yet.</p>")
        return
    st.dataframe(
        {
            "When (UTC)": [entry.at.replace("T", " ").removesuffix("Z") for entry in entries],
            "Who": [entry.name for entry in entries],
            "Did": [entry.action for entry in entries],
            "What": [entry.subject for entry in entries],
            "More": [entry.detail_text for entry in entries],
        },
        hide_index=True,
        height=640 if len(entries) > _FIT else "content",
    )
    if len(entries) == _MOST:
        st.html(
            f"<p class=fs-note>The newest {_MOST}. All of them: <span class=fs-mono>python -m "
            "profiler_core audit --json --limit 100000</span></p>"
        )
