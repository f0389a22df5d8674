"""Title, summary and verdict: one text that many may edit, and nobody overwrites unseen.

The fields are bound to the version that they were filled from. Where somebody else changed it
meanwhile, this page keeps what was typed, says so, and saves nothing over the other's words.
"""

import streamlit as st

from profiler_core.dates import short
from profiler_core.model.review import VERDICTS, Review
from profiler_core.store import history
from profiler_core.store.history.reviews import LONGEST_TEXT, LONGEST_TITLE
from profiler_core.ui.page import section
from profiler_core.ui.problem_card import escape_markdown
from profiler_core.ui.review.doing import told
from profiler_core.ui.review.words import WORDS
from profiler_core.ui.review.writer import ask_for_name, writer


def show_verdict(review: Review) -> None:
    """The form."""
    section("Verdict")
    ask_for_name()
    version = st.session_state.setdefault(_seen_key(review), review.version)
    keys = {
        name: f"fs_rv_{name}_{review.review_id}_{version}" for name in ("title", "text", "word")
    }
    if version != review.version:
        with st.container(border=True, gap="small"):
            when = f"{review.changed_by} changed this review at {short(review.changed_at)} UTC."
            st.markdown(
                f"**{escape_markdown(when)}** What you typed below is not saved; what stands "
                "above is theirs."
            )
            st.button("Show me theirs to edit", on_click=_take, args=(review,), key="fs_rv_theirs")
    with st.form("fs_rv_verdict", border=False):
        st.pills(
            "Verdict", VERDICTS, default=review.verdict, format_func=WORDS.__getitem__,
            key=keys["word"], label_visibility="collapsed",
        )  # fmt: skip
        st.text_area(
            "Summary", value=review.summary, key=keys["text"], max_chars=LONGEST_TEXT, height=120,
            placeholder="What the team should know in two sentences",
        )  # fmt: skip
        st.text_input("Title", value=review.title, key=keys["title"], max_chars=LONGEST_TITLE)
        st.form_submit_button("Save", on_click=_save, args=(review.review_id, version, keys))


def _save(review_id: str, shown_version: int, keys: dict[str, str]) -> None:
    with told("Saved."):
        version = history.change_review(
            review_id,
            shown_version,
            title=st.session_state[keys["title"]],
            summary=st.session_state[keys["text"]],
            verdict=st.session_state[keys["word"]],
            person=writer(),
        )
        st.session_state[f"fs_rv_seen_{review_id}"] = version


def _take(review: Review) -> None:
    st.session_state[_seen_key(review)] = review.version


def _seen_key(review: Review) -> str:
    return f"fs_rv_seen_{review.review_id}"
