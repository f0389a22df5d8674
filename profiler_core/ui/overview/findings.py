"""What stands out, the most important first, each with a link to the page that shows it."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.findings import Finding
from profiler_core.analysis.item import Item, finding_item
from profiler_core.analysis.rows.findings import finding_rows
from profiler_core.analysis.wording.findings import amounts_text
from profiler_core.markup import Markup, render
from profiler_core.model.run import RunRecord
from profiler_core.ui.dossier.address import filters_of, item_link, with_item
from profiler_core.ui.experiments.start import may_try, try_button, why_some_are_not_tried
from profiler_core.ui.links import Query, href_from_start
from profiler_core.ui.page import section

_SHOWN = 6  # further ones are folded
_ROW_PX = 1000  # what a sentence needs, its amount before it, and the links and button behind it


def show_findings(
    findings: Sequence[Finding], label: str, run: int, query: Query, record: RunRecord,
    source: Sequence[str],
) -> None:  # fmt: skip
    """Draw them; where nothing stands out this is said, and settings can be tried all the same.

    Args:
        findings: most important first.
        label: the run they are about.
        run: its place in the choice.
        query: URL parameters of the pages that they lead to.
        record: of that run: where captures are allowed, what a finding asks for can be tried.
        source: keys of the runs that are looked at.
    """
    note = f"What stands out in {label}, the most important first. {amounts_text(findings)}"
    section("What to do next", note.strip())
    if not findings:
        st.html(
            "<p class=fs-note>Nothing stands out: none of the usual causes takes as much of the "
            "step as it needs to be named here. Whether other settings are faster is told only by "
            "trying them.</p>"
        )
    can_try = may_try(record, source)
    if can_try:
        try_button("Try all" if findings else "Try settings", "fs_try_all", record, source)
        why = why_some_are_not_tried(record, findings)
        if why:
            st.caption(why)
    if findings:
        _show(findings[:_SHOWN], run, query, record, source, can_try=can_try)
    n_more = len(findings) - _SHOWN
    if n_more > 0:
        with st.expander(f"{n_more} more", type="compact"):
            _show(findings[_SHOWN:], run, query, record, source, can_try=can_try)


def _show(
    findings: Sequence[Finding], run: int, query: Query, record: RunRecord, source: Sequence[str],
    *, can_try: bool,
) -> None:  # fmt: skip
    """Each with a button where a setting may do what it asks for."""
    if not can_try:
        st.html(_html(findings, run, query))
        return
    for finding in findings:
        with st.container(
            horizontal=True, vertical_alignment="top", gap="small", width=_ROW_PX,
            key=f"fs_finding_{finding.key}",
        ):  # fmt: skip
            with st.container(width="stretch"):
                st.html(_html([finding], run, query))
            try_button("Try it", f"fs_try_{finding.key}", record, source, finding)


def _html(findings: Sequence[Finding], run: int, query: Query) -> Markup:
    rows = [
        (row, item_of(finding, run), href_from_start(finding.page, landing(finding, run, query)))
        for row, finding in zip(finding_rows(findings), findings, strict=True)
    ]
    return render("page/findings.html", findings=rows, link=item_link)


def item_of(finding: Finding, run: int) -> Item:
    """What its dossier is about: the most telling piece of its evidence, else itself."""
    return finding.items[0] if finding.items else finding_item(run, finding.key)


def landing(finding: Finding, run: int, query: Query) -> Query:
    """URL parameters of its page: filtered to what it is about, with the dossier of its evidence.

    Of several kernels the dossier is the finding's own, which has them all.

    Args:
        finding: with items and filters.
        run: that it is of, its place in the choice.
        query: of the chosen runs.
    """
    has_several = finding.page == "kernels" and len(finding.items) > 1
    item = finding_item(run, finding.key) if has_several else item_of(finding, run)
    return with_item({**query, **filters_of(finding.filters)}, item)
