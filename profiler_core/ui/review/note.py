"""Notes: what was written, and a place to write one more."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from profiler_core.dates import short
from profiler_core.model.review import Review, ReviewFinding, ReviewNote
from profiler_core.store import history
from profiler_core.store.history.reviews import LONGEST_TEXT
from profiler_core.ui.page import section
from profiler_core.ui.review.doing import told
from profiler_core.ui.review.writer import writer


def show_general_notes(review: Review) -> None:
    """What was written about the review as a whole."""
    section("Notes on the whole")
    show_notes(review, review.general_notes, None)


def show_notes(review: Review, notes: Sequence[ReviewNote], about: ReviewFinding | None) -> None:
    """The notes, the oldest first, and the way to add one."""
    me = writer()
    for note in notes:
        text = escape(note.text)
        signature = escape(f"{review.name_of(note.person)}, {short(note.written_at)}")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.html(
                f"<div class=fs-rv-note>{text}<small>{signature}</small></div>",
                width="content",
            )
            if note.person == me:
                st.button(
                    ":small[:gray[Take back]]", type="tertiary",
                    key=f"fs_rv_take_{note.note_id}", on_click=_take_back, args=(review, note),
                    width="content",
                )  # fmt: skip
    # New keys after each note that was kept: the field is empty then, and the popover, which would
    # stay over the next finding, is closed.
    key = f"{about.position}_{about.key}" if about else "whole"
    field = f"fs_rv_text_{key}_{len(notes)}"
    with st.popover("Add a note", type="tertiary", key=f"fs_rv_add_{key}_{len(notes)}"):
        st.text_area("Note", key=field, max_chars=LONGEST_TEXT, height=110)
        st.button("Keep it", key=f"fs_rv_keep_{key}", on_click=_keep, args=(review, about, field))


def _keep(review: Review, about: ReviewFinding | None, field: str) -> None:
    with told("Your note is kept."):
        history.add_note(
            review.review_id,
            st.session_state.get(field, ""),
            person=writer(),
            finding=about.key if about else None,
            position=about.position if about else None,
        )


def _take_back(review: Review, note: ReviewNote) -> None:
    with told("Your note is gone."):
        history.delete_note(review.review_id, note.note_id, person=writer())
