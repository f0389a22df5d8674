"""A report of the chosen runs to download, as the command `report` writes it."""

import streamlit as st

from profiler_core.errors import FusionscopeError
from profiler_core.report.pdf import find_browser
from profiler_core.store.orders import Order
from profiler_core.ui.choice import Choice
from profiler_core.ui.file_from_command import file_name, offer_file

_HTML, _PDF, _MARKDOWN = "HTML", "PDF", "Markdown"
_ENDING = {_HTML: ".html", _PDF: ".pdf", _MARKDOWN: ".md"}
_MIME = {_HTML: "text/html", _PDF: "application/pdf", _MARKDOWN: "text/markdown"}
_WHAT = {
    _HTML: "One file that opens in any browser without a network, with every chart.",
    _PDF: "The same on paper, its summary on the first page.",
    _MARKDOWN: "Verdict, numbers and first findings as a comment on a pull request.",
}


def offer_report(choice: Choice, review_id: str = "", review_url: str | None = None) -> None:
    """A small menu: the format, whether to leave names out, and the download.

    Args:
        choice: the runs.
        review_id: of the review that goes with it; empty: none.
        review_url: where that review is to be found.
    """
    if not choice.candidates:
        return
    run = choice.baseline.run
    with st.popover("Report", type="tertiary", icon=":material/description:", width="content"):
        formats = [_HTML, *([_PDF] if _can_print() else []), _MARKDOWN]
        form = st.segmented_control(
            "Format", formats, default=_HTML, required=True, key="report_format"
        )
        form = form if form in formats else _HTML
        st.caption(_WHAT[form])
        redact = st.checkbox("Leave out folders, host, user and source lines", key="report_redact")
        options = (
            *(["--redact"] if redact else []),
            *([f"--review={review_id}"] if review_id else []),
            *([f"--review-url={review_url}"] if review_id and review_url else []),
        )
        offer_file(
            "Download the report",
            Order("report", tuple(e.path for e in choice.entries), _ENDING[form], options),
            name=file_name("report", run.workload or run.name or ""),
            mime=_MIME[form],
            key="report_download",
        )


def _can_print() -> bool:
    try:
        find_browser()
    except FusionscopeError:
        return False
    return True
