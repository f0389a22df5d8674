"""Which kernels the page shows: a search, the categories, and a finding's, all in the URL."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.item import kernel_item
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.wording.sentence import clause, counted
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.finding import kernels_of_finding
from profiler_core.ui.address import in_address
from profiler_core.ui.links import plain_label

_FINDING = "finding"


def choose_kernels(rows: Sequence[KernelRow], comparison: Comparison) -> tuple[KernelRow, ...]:
    """Draw the controls; every word of the search must occur in the name, in any order."""
    present = {row.category for row in rows}
    labels = [label for key, label in CATEGORIES.items() if key in present]
    search, kinds = st.columns([2, 3])
    with search:
        words = st.text_input(
            "Search",
            placeholder="part of a name: gemm tf32",
            max_chars=200,
            **in_address("q"),
        )
    with kinds:
        chosen = st.multiselect("Kinds", labels, placeholder="all kinds", **in_address("kind"))
    return filtered(_of_finding(rows, comparison), words, chosen)


def _of_finding(rows: Sequence[KernelRow], comparison: Comparison) -> Sequence[KernelRow]:
    """Those that the finding in the address is about, which is said; without one all of them."""
    found = kernels_of_finding(comparison, st.query_params.get(_FINDING, ""))
    of_finding = [row for row in rows if found is not None and kernel_item(row.name) in found[1]]
    if found is None or not of_finding:
        return rows
    with st.container(horizontal=True, vertical_alignment="center", key="fs_of_finding"):
        shown = counted(len(of_finding), "kernel")
        st.caption(f"The {shown} of “{plain_label(clause(found[0].title))}”", width="content")
        st.button("Show all kernels", type="tertiary", on_click=_show_all)
    return of_finding


def _show_all() -> None:
    st.query_params.pop(_FINDING, None)


def filtered(rows: Sequence[KernelRow], words: str, labels: Sequence[str]) -> tuple[KernelRow, ...]:
    """Rows whose name holds all words and whose category is among the labels (none: all)."""
    needles = words.lower().split()
    return tuple(
        row
        for row in rows
        if all(word in row.name.lower() for word in needles)
        and (not labels or CATEGORIES.get(row.category, row.category) in labels)
    )
