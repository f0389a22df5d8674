"""Page: what does the team make of these runs?"""

import streamlit as st

from profiler_core.page_specs import PageSpec
from profiler_core.store import history
from profiler_core.ui.page import page
from profiler_core.ui.review.address import REVIEW
from profiler_core.ui.review.findings import show_findings
from profiler_core.ui.review.head import show_head
from profiler_core.ui.review.list import show_reviews
from profiler_core.ui.review.note import show_general_notes
from profiler_core.ui.review.sign import show_sign_offs
from profiler_core.ui.review.start import start_from_choice
from profiler_core.ui.review.style import write_review_style
from profiler_core.ui.review.verdict import show_verdict
from profiler_core.ui.review.weekly import show_weekly
from profiler_core.ui.runs.keeping import bring_up_to_date
from profiler_core.ui.runs.regressions import show_regressions

SPEC = PageSpec(
    title="Review",
    icon=":material/rate_review:",
    question="What does the team conclude from these runs, and who signed it?",
    section="Runs",
    order=240,
    needs="nothing",
    words="baseline comments sign owner",
    parameters=("baseline", "candidate", "review", "verdict", "title", "person", "workload"),
)

_review_id = st.query_params.get(REVIEW)
with page(SPEC, writes_headline=bool(_review_id)) as first_line:
    write_review_style()
    if _review_id:
        review = history.review(_review_id)
        show_head(review)
        left, right = st.columns([1.75, 1], gap="large")
        with right:
            show_verdict(review)
            show_sign_offs(review)
        with left:
            bring_up_to_date(with_artifacts=False)  # a trial that has ended closes a finding
            show_findings(review)
            show_general_notes(review)
    else:
        show_reviews(first_line)
        show_regressions()
        show_weekly()
        start_from_choice()
