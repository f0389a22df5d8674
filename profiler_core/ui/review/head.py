"""The top of a review: title, verdict, what was compared and what the numbers said then."""

from html import escape

import streamlit as st

from profiler_core.dates import minute
from profiler_core.errors import FusionscopeError
from profiler_core.markup import prose
from profiler_core.model.review import Review
from profiler_core.store import history
from profiler_core.ui.choice import open_choice, query_of
from profiler_core.ui.links import page_link
from profiler_core.ui.report.download import offer_report
from profiler_core.ui.review.address import absolute_address, close_review
from profiler_core.ui.review.data import gathered
from profiler_core.ui.review.doing import tell, told
from profiler_core.ui.review.words import verdict_chip
from profiler_core.ui.review.writer import may_delete, writer
from profiler_core.ui.runs.baseline import offer_baseline


def show_head(review: Review) -> None:
    """Draw it, with the ways on."""
    st.button("All reviews", icon=":material/arrow_back:", type="tertiary", on_click=close_review)
    tell()
    kind = "Weekly review" if review.template == "weekly" else "Review"
    begun = f"{kind} begun by {review.name_of(review.person)}, {minute(review.created_at)}"
    st.html(
        f"<p class=fs-eyebrow>{escape(begun)}</p>"
        f"<h1 class=fs-rv-title>{escape(review.title)} {verdict_chip(review.verdict)}</h1>"
        + (f"<p class=fs-rv-summary>{escape(review.summary)}</p>" if review.summary else "")
    )
    st.html(_sides(review))
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        page_link("overview", "Open the comparison", query_of(_keys(review)))
        _offer_report(review)
        offer_baseline({side.key: side.label for side in (*review.sides[1:], review.sides[0])})
        if st.button("Look again", type="tertiary", help=_LOOK_AGAIN, key="fs_rv_look"):
            _look_again(review)
        if may_delete(review.person):
            with st.popover("Delete", type="tertiary"):
                st.html("<p class=fs-note>The review goes with its notes and names, for good.</p>")
                st.button("Delete for good", key="fs_rv_delete", on_click=_delete, args=(review,))


_LOOK_AGAIN = (
    "Adds findings that a newer Fusionscope or newer files show; those that are here keep their "
    "words and notes."
)


def _sides(review: Review) -> str:
    baseline, *candidates = review.sides
    html = f"<p class=fs-note>{prose(baseline.facts)}</p>" if baseline.facts else ""
    for side in candidates:
        bad = " class=fs-w" if side.verdict in ("wrong_numerics", "slower") else ""
        headline = side.headline or f"{side.label} against {baseline.label}"
        html += (
            f"<div class=fs-rv-side><b{bad}>{prose(headline)}</b>"
            + (f"<p>{prose(side.details)}</p>" if side.details else "")
            + "</div>"
        )
    return html


def _keys(review: Review) -> tuple[str, ...]:
    return tuple(side.key for side in review.sides)


def _offer_report(review: Review) -> None:
    try:
        choice = open_choice(_keys(review))
    except FusionscopeError:
        st.html("<p class=fs-note>Its runs are not here any more.</p>")
        return
    offer_report(choice, review.review_id, absolute_address(review.review_id))


def _look_again(review: Review) -> None:
    with st.spinner("Looking at the runs"):
        _, findings = gathered(open_choice(_keys(review)))
        history.add_findings(review.review_id, findings, person=writer())
    st.rerun()


def _delete(review: Review) -> None:
    with told(f"Deleted {review.title}."):
        if may_delete(review.person):  # the role may have changed since the page was drawn
            history.delete_review(review.review_id, person=writer())
            close_review()
