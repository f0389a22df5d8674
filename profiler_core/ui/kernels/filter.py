"""Which kernels the page shows: a search and the categories, both in the URL."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.ui.address import in_address


def choose_kernels(rows: Sequence[KernelRow]) -> tuple[KernelRow, ...]:
    """Draw both controls; every word of the search must occur in the name, in any order."""
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
    return filtered(rows, words, chosen)


def filtered(rows: Sequence[KernelRow], words: str, labels: Sequence[str]) -> tuple[KernelRow, ...]:
    """Rows whose name holds all words and whose category is among the labels (none: all)."""
    needles = words.lower().split()
    return tuple(
        row
        for row in rows
        if all(word in row.name.lower() for word in needles)
        and (not labels or CATEGORIES.get(row.category, row.category) in labels)
    )
