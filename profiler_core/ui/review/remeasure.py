"""A finding is held against a later run of its workload, and closed with the difference."""

from html import escape

import streamlit as st

from profiler_core.analysis.wording.difference import difference_sentence, prediction_sentence
from profiler_core.dates import short
from profiler_core.errors import FusionscopeError
from profiler_core.markup import with_units
from profiler_core.model.history import RecordedRun
from profiler_core.model.review import Difference, FindingTask, Review, ReviewFinding
from profiler_core.session.cache import SHARED
from profiler_core.store import history
from profiler_core.store.library import key_of_recorded
from profiler_core.ui.choice import query_of
from profiler_core.ui.links import page_link
from profiler_core.ui.review.doing import told
from profiler_core.ui.review.writer import writer


def offer_remeasuring(review: Review, finding: ReviewFinding, task: FindingTask | None) -> None:
    """A small menu: a later run, what changed, and the button that closes the finding."""
    key = f"{finding.position}_{finding.key}_{task.version if task else 0}"
    before_id = review.sides[finding.position].run_id
    with st.popover("Re-measure", type="tertiary", key=f"fs_rv_measure_{key}"):
        later = _later_runs(before_id)
        if before_id is None or not later:
            st.html(f"<p class=fs-note>{_why_none(before_id)}</p>")
            with st.container(horizontal=True, gap="medium"):
                page_link("capture", "Capture it again")
                page_link("experiments", "Try settings of the compiler")
            return
        by_id = {run.run_id: run for run in later}
        run_id = st.selectbox(
            "The run that shows what it brought", list(by_id),
            format_func=lambda run_id: _label(by_id[run_id]),
            key=f"fs_rv_later_{key}",
        )  # fmt: skip
        difference = difference_with(finding, before_id, run_id)
        if difference is None:
            st.html("<p class=fs-note>One of the two was not timed, so nothing can be told.</p>")
            return
        sentences = (difference_sentence(difference), prediction_sentence(difference))
        text = with_units(" ".join(filter(None, sentences)))
        st.html(f"<p class=fs-rv-task>{escape(text)}</p>")
        keys = (review.sides[finding.position].key, key_of_recorded(by_id[run_id]))
        page_link("overview", "Compare the two", query_of(keys))
        st.button(
            "Close with this difference", type="primary", key=f"fs_rv_close_{key}", on_click=_close,
            args=(review.review_id, finding.reference, task.version if task else 0, run_id),
        )  # fmt: skip


def difference_with(finding: ReviewFinding, before_id: str, after_id: str) -> Difference | None:
    """What a step gained, and what the finding had predicted."""
    predicted = (finding.at_stake_ns, finding.is_bound)
    asked = ("difference", *history.version(), predicted, before_id, after_id)
    return SHARED.get(asked, lambda: history.difference_for(finding, before_id, after_id))


def _later_runs(run_id: str | None) -> tuple[RecordedRun, ...]:
    if run_id is None:
        return ()
    try:
        return SHARED.get(
            ("later runs", *history.version(), run_id), lambda: history.later_runs(run_id)
        )
    except FusionscopeError:  # it is in the trash
        return ()


def _why_none(run_id: str | None) -> str:
    if run_id is None:
        return "This run is not in the history, so no later run can be told to be of its workload."
    return (
        "No later run of the same workload, shapes, batch and device is in the history yet. "
        "Change what the finding names, capture again, and come back."
    )


def _label(run: RecordedRun) -> str:
    commit = f"commit {run.git_commit[:7]}" if run.git_commit else ""
    facts = (run.variant or run.name, short(run.created_at), commit, run.run_id)
    return ", ".join(filter(None, facts))


def _close(review_id: str, reference: tuple[int, str], version: int, run_id: str) -> None:
    with told("Closed with the difference."):
        history.close_finding(review_id, reference, version, run_id, person=writer())
