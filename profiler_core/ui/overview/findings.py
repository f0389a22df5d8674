"""What stands out, ranked by the time at stake, each with a link to the page that shows it."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.findings import Finding
from profiler_core.analysis.rows.findings import finding_rows
from profiler_core.markup import Markup, render
from profiler_core.ui.links import Query, href_from_start
from profiler_core.ui.page import section

_SHOWN = 6  # further ones are folded


def show_findings(findings: Sequence[Finding], label: str, query: Query) -> None:
    """Draw them; says so where nothing stands out.

    Args:
        findings: most important first.
        label: the run they are about.
        query: URL parameters of the pages that they lead to.
    """
    bounds = " ≤ is an upper bound." if any(finding.is_bound for finding in findings) else ""
    section("What to do next", f"What stands out in {label}, by the time at stake.{bounds}")
    if not findings:
        st.html(
            "<p class=fs-note>Nothing stands out: none of the usual causes takes a noticeable "
            "part of the step.</p>"
        )
        return
    st.html(_html(findings[:_SHOWN], query))
    n_more = len(findings) - _SHOWN
    if n_more > 0:
        with st.expander(f"{n_more} more", type="compact"):
            st.html(_html(findings[_SHOWN:], query))


def _html(findings: Sequence[Finding], query: Query) -> Markup:
    rows = [(row, href_from_start(row.page, query)) for row in finding_rows(findings)]
    return render("page/findings.html", findings=rows)
