"""Beginning a review: of the runs that are chosen in the sidebar."""

from html import escape

import streamlit as st

from profiler_core.analysis.wording.sentence import listed
from profiler_core.store import history
from profiler_core.ui.choice import Choice
from profiler_core.ui.page import section
from profiler_core.ui.review.address import open_review
from profiler_core.ui.review.data import gathered
from profiler_core.ui.review.writer import ask_for_name, writer
from profiler_core.ui.run_picker import choose_runs


def start_from_choice() -> None:
    """Draw what is chosen, a title, and the button; last on the page, for it may end the script."""
    section("New review", "Of the runs that are chosen on the left.")
    choice = choose_runs()
    if not choice.candidates:
        st.html("<p class=fs-note>Choose at least one candidate to review.</p>")
        return
    st.html(
        f"<p class=fs-sub><b>{escape(listed(choice.labels[1:]))}</b> against "
        f"{escape(choice.labels[0])}</p>"
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        title = st.text_input(
            "Title", value=_title(choice), max_chars=200, key=f"fs_rv_new_{'|'.join(_keys(choice))}"
        )
        ask_for_name()
        begin = st.button("Begin the review", type="primary", key="fs_rv_begin")
    if begin:
        begin_review(choice, title)


def begin_review(choice: Choice, title: str, template: str = "") -> None:
    """Look at the runs, keep the review, and open it.

    Raises:
        BadInput: a file cannot be read, or the review cannot be kept.
    """
    who = writer()
    with st.spinner("Looking at the runs: their verdicts and findings are kept with the review"):
        sides, findings = gathered(choice)
        review_id = history.begin_review(title, sides, findings, person=who, template=template)
    open_review(review_id)
    st.rerun()


def _title(choice: Choice) -> str:
    run = choice.baseline.run
    what = run.workload or run.name
    against = f"{listed(choice.labels[1:])} against {choice.labels[0]}"
    return (f"{what}: {against}" if what else against)[:200]


def _keys(choice: Choice) -> list[str]:
    return [entry.key for entry in choice.entries]
