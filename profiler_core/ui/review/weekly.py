"""The weekly template: of each named baseline, this week's newest run, one click to its review."""

from datetime import UTC, datetime
from html import escape

import streamlit as st

from profiler_core.analysis.weekly import WeeklyReview, weekly_reviews
from profiler_core.dates import short
from profiler_core.store import history
from profiler_core.store.library import key_of_recorded
from profiler_core.ui.choice import open_choice
from profiler_core.ui.page import section
from profiler_core.ui.review.address import address_of
from profiler_core.ui.review.start import begin_review


def show_weekly() -> None:
    """One line for each baseline; nothing where none is kept."""
    baselines = history.baselines()
    if not baselines:
        return
    section("This week", "The newest run of each workload against its named baseline.")
    for number, review in enumerate(
        weekly_reviews(baselines, history.baselines_with_newest(baselines), today=datetime.now(UTC))
    ):
        _line(review, number)


def _line(review: WeeklyReview, number: int) -> None:
    newest = review.candidate
    against = f"baseline “{review.name}”, {short(review.baseline.created_at)}"
    if newest is None:
        sentence = f"{against}: nothing newer of the same variant was measured"
    else:
        sentence = f"{newest.variant or newest.name}, {short(newest.created_at)}, against {against}"
    with st.container(horizontal=True, vertical_alignment="center", key=f"fs_rv_week_{number}"):
        st.html(
            f"<p style='margin:0;font-size:14px'><b>{escape(review.title)}</b></p>"
            f"<p class=fs-note style='padding:0'>{escape(sentence)}</p>",
            width="stretch",
        )
        if newest is None:
            return
        begun = history.review_of(review.title, [review.baseline.run_id, newest.run_id])
        if begun is not None:
            st.html(
                f'<a class=fs-link target="_self" href="{escape(address_of(begun))}">Open the '
                "review</a>",
                width="content",
            )
        elif st.button("Begin", key=f"fs_rv_begin_{number}", width="content"):
            keys = (key_of_recorded(review.baseline), key_of_recorded(newest))
            begin_review(open_choice(keys), review.title, template="weekly")
