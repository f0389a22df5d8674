"""The audit as a table, narrowed down by person and deed."""

import streamlit as st

from profiler_core.store import history
from profiler_core.store.history.audit import n_entries, words_of
from profiler_core.ui.address import in_address
from profiler_core.ui.paging import choose_page
from profiler_core.ui.table import foreign_text

_PAGE = 50


def show_entries() -> None:
    """Draw it, the newest first."""
    people, actions = words_of()
    names = history.names_of(people)
    with st.container(horizontal=True, gap="medium"):
        person = st.selectbox(
            "Person",
            people,
            index=None,
            placeholder="Anybody",
            width=260,
            format_func=names.__getitem__,
            **in_address("person"),
        )
        action = st.selectbox(
            "Deed",
            actions,
            index=None,
            placeholder="Any",
            width=220,
            **in_address("deed"),
        )
    n_all = n_entries(person=person, action=action)
    if not n_all:
        st.html("<p class=fs-note>Nothing yet.</p>")
        return
    table = st.container()
    number = choose_page("page", -(-n_all // _PAGE))
    offset = (number - 1) * _PAGE
    entries = history.entries(_PAGE, person=person, action=action, offset=offset)
    with table:
        if n_all > _PAGE:
            last = offset + len(entries)
            st.html(f"<p class=fs-note>{offset + 1:,} to {last:,} of {n_all:,}.</p>")
        st.dataframe(
            foreign_text(
                {
                    "When (UTC)": [
                        entry.at.replace("T", " ").removesuffix("Z") for entry in entries
                    ],
                    "Who": [entry.name for entry in entries],
                    "Did": [entry.action for entry in entries],
                    "What": [entry.subject for entry in entries],
                    "More": [entry.detail_text for entry in entries],
                }
            ),
            hide_index=True,
            height="content",
            column_config={  # else "More" takes it
                "Who": st.column_config.TextColumn(width=150),
                "Did": st.column_config.TextColumn(width=105),
                "What": st.column_config.TextColumn(width=190),
            },
        )
    if n_all > _PAGE:
        st.html(
            "<p class=fs-note>All of them: <span class=fs-mono>python -m profiler_core audit "
            f"--json --limit {n_all}</span></p>"
        )
