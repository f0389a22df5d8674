"""The weekly template: of each named baseline, this week's newest run, one click to its review."""

from datetime import UTC, datetime
from html import escape

import streamlit as st

from profiler_core.analysis.weekly import WeeklyReview, weekly_reviews
from profiler_core.store import history
from profiler_core.store.library import key_of_recorded
from profiler_core.ui.choice import open_choice
from profiler_core.ui.dates import short
from profiler_core.ui.page import section
from profiler_core.ui.review.address import address_of
from profiler_core.ui.review.start import begin_review


def show_weekly() -> None:
    """One line for each baseline; nothing where none is kept."""
    kept = history.baselines()
    if not kept:
        return
    section("This week", "The newest run of each workload against its named baseline.")
    for number, one in enumerate(weekly_reviews(kept, history.runs(), today=datetime.now(UTC))):
        _line(one, number)


def _line(one: WeeklyReview, number: int) -> None:
    newest = one.candidate
    against = f"baseline “{one.name}”, {short(one.baseline.created_at)}"
    if newest is None:
        said = f"{against}: nothing newer of the same variant was measured"
    else:
        said = f"{newest.variant or newest.name}, {short(newest.created_at)}, against {against}"
    with st.container(horizontal=True, vertical_alignment="center", key=f"fs_rv_week_{number}"):
        st.html(
            f"<p style='margin:0;font-size:14px'><b>{escape(one.title)}</b></p>"
            f"<p class=fs-note style='padding:0'>{escape(said)}</p>",
            width="stretch",
        )
        if newest is None:
            return
        there = history.review_of(one.title, [one.baseline.run_id, newest.run_id])
        if there is not None:
            st.html(
                f'<a class=fs-link target="_self" href="{escape(address_of(there))}">Open the '
                "review</a>",
                width="content",
            )
        elif st.button("Begin", key=f"fs_rv_begin_{number}", width="content"):
            keys = (key_of_recorded(one.baseline), key_of_recorded(newest))
            begin_review(open_choice(keys), one.title, template="weekly")
