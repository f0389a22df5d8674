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
        findings = [finding for finding in review.findings if finding.position == position]
        section(f"What stands out in {side.label}", "As it was when the review was begun.")
        if not findings:
            st.html("<p class=fs-note>Nothing stood out.</p>")
        for finding in findings:
            _finding(review, finding, query)


def _finding(review: Review, finding: ReviewFinding, query: Query) -> None:
    bad = " class=fs-w" if finding.weight in ("first of all", "first") else ""
    link = arrow_to(finding.page, query)
    key = f"{finding.position}_{finding.key}"
    with st.container(key=f"fs_rv_finding_{key}", gap="xsmall"):
        st.html(
            f"<div class=fs-finding><div class=fs-stake><b>{escape(finding.stake)}</b>"
            f"<small>{escape(finding.unit)}</small></div><div><b{bad}>{escape(finding.title)}</b>"
            f"<p>{escape(finding.evidence)} <span>{escape(finding.advice)}</span></p></div>"
            f"<div>{link}</div></div>"
        )
        with st.container(key=f"fs_rv_told_{key}", gap="xsmall"):
            show_notes(review, review.notes_on(finding), finding)
