"""The findings of a review, in the words of that time, each with its notes."""

from html import escape

import streamlit as st

from profiler_core.model.review import Review, ReviewFinding
from profiler_core.ui.choice import query_of
from profiler_core.ui.links import Query, arrow_to
from profiler_core.ui.page import section
from profiler_core.ui.review.note import show_notes


def show_findings(review: Review) -> None:
    """By candidate, the most important first."""
    query = query_of(tuple(side.key for side in review.sides))
    for position, side in enumerate(review.sides[1:], start=1):
        found = [one for one in review.findings if one.position == position]
        section(f"What stands out in {side.label}", "As it was when the review was begun.")
        if not found:
            st.html("<p class=fs-note>Nothing stood out.</p>")
        for one in found:
            _finding(review, one, query)


def _finding(review: Review, one: ReviewFinding, query: Query) -> None:
    bad = " class=fs-w" if one.weight in ("first of all", "first") else ""
    link = arrow_to(one.page, query)
    key = f"{one.position}_{one.key}"
    with st.container(key=f"fs_rv_finding_{key}", gap="xsmall"):
        st.html(
            f"<div class=fs-finding><div class=fs-stake><b>{escape(one.stake)}</b>"
            f"<small>{escape(one.unit)}</small></div><div><b{bad}>{escape(one.title)}</b>"
            f"<p>{escape(one.evidence)} <span>{escape(one.advice)}</span></p></div>"
            f"<div>{link}</div></div>"
        )
        with st.container(key=f"fs_rv_told_{key}", gap="xsmall"):
            show_notes(review, review.notes_on(one), one)
