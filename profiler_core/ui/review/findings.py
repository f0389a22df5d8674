"""The findings of a review, in the words of that time, each with its notes."""

import streamlit as st

from profiler_core.analysis.findings import GRAVE
from profiler_core.analysis.rows.findings import FindingRow
from profiler_core.markup import render
from profiler_core.model.review import Review, ReviewFinding
from profiler_core.ui.choice import query_of
from profiler_core.ui.links import Query, href_from_start
from profiler_core.ui.page import section
from profiler_core.ui.review.note import show_notes
from profiler_core.ui.review.task import show_task


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
    row = FindingRow(
        finding.title, finding.evidence, finding.advice, finding.stake, finding.unit, finding.page,
        is_grave=finding.weight in GRAVE,
    )  # fmt: skip
    key = f"{finding.position}_{finding.key}"
    with st.container(key=f"fs_rv_finding_{key}", gap="xsmall"):
        st.html(
            render(
                "page/findings.html", findings=[(row, None, href_from_start(finding.page, query))]
            )
        )
        with st.container(key=f"fs_rv_told_{key}", gap="xsmall"):
            show_task(review, finding)
            show_notes(review, review.notes_on(finding), finding)
