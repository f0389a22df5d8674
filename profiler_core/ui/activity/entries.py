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
    with st.container(horizontal=True, gap="medium"):
        person = st.selectbox(
            "Person", people, index=None, placeholder="Anybody", width=260,
            **in_address("person"),
        )  # fmt: skip
        action = st.selectbox(
            "Deed", actions, index=None, placeholder="Any", width=220, **in_address("deed"),
        )  # fmt: skip
    found = history.entries(_MOST, person=person, action=action)
    if not found:
        st.html("<p class=fs-note>Nothing yet.</p>")
        return
    st.dataframe(
        {
            "When (UTC)": [one.at.replace("T", " ").removesuffix("Z") for one in found],
            "Who": [one.person for one in found],
            "Did": [one.action for one in found],
            "What": [one.subject for one in found],
            "More": [one.detail_text for one in found],
        },
        hide_index=True,
        height=640 if len(found) > _FIT else "content",
    )
    if len(found) == _MOST:
        st.html(
            f"<p class=fs-note>The newest {_MOST}. All of them: <span class=fs-mono>python -m "
            "profiler_core audit --json --limit 100000</span></p>"
        )
