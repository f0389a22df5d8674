"""Bringing rank traces to the page: several files, a .zip, or folders on the server."""

import streamlit as st

from profiler_core.ui.page import section
from profiler_core.ui.runs.open_path import open_by_path
from profiler_core.ui.upload.panel import upload_panel

_PAGE = "ranks"


def bring_folded() -> None:
    """One line that opens."""
    with st.expander("Open rank traces", type="compact"):
        _bring()


def bring_opened() -> None:
    """A section of the page: there is nothing else to look at."""
    section("Open rank traces")
    _bring()


def _bring() -> None:
    """The drop zone, and below it a line for a folder of each job."""
    st.html(
        "<p class=fs-note>One trace of each rank: drop all of them at once, or a .zip of them. "
        "The rank is what the file says (distributedInfo), else what its name says: "
        "<code>rank0.json.gz</code>, <code>rank1.json.gz</code>, … Two jobs in folders of "
        "their own, such as <code>eager/</code> and <code>compiled/</code>, are compared.</p>"
    )
    upload_panel(_PAGE)
    st.html("<p class=fs-note>Or the folder where they lie on this server:</p>")
    open_by_path(_PAGE)
