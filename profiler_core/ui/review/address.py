"""The part of the address that names a review: `review?review=ID` opens it for everybody."""

import streamlit as st

from profiler_core.ui.links import href

REVIEW = "review"


def address_of(review_id: str) -> str:
    """A relative address, for `<a>`."""
    return href("review", {REVIEW: review_id})


def absolute_address(review_id: str) -> str | None:
    """With the server in front, as this visitor reached it; None: it is not known."""
    base = (st.context.url or "").partition("?")[0].rstrip("/")
    if not base:
        return None
    folder = base if base.endswith("/review") else f"{base}/review"
    return f"{folder}?{REVIEW}={review_id}"


def open_review(review_id: str) -> None:
    """Show it from the next run on."""
    st.query_params.clear()
    st.query_params[REVIEW] = review_id


def close_review() -> None:
    """Back to the list."""
    st.query_params.clear()
