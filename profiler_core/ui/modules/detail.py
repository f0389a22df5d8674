"""The fusion groups that work for the module whose dossier is open, with its share of each."""

import streamlit as st

from profiler_core.analysis.item import module_item
from profiler_core.analysis.modules import ModuleRow, parts_of
from profiler_core.analysis.rows.modules import parts_table, row_title
from profiler_core.ui.dossier.address import item_in_url
from profiler_core.ui.modules.data import Shown
from profiler_core.ui.page import section
from profiler_core.ui.table import show_table
from profiler_core.units import format_difference, format_duration

_MOST = 40


def opened_row(shown: Shown) -> ModuleRow | None:
    """The module that the address names; None: it names none of these."""
    item = item_in_url()
    item = item.named if item is not None else None
    tree = shown.divided.modules
    rows = (*tree.rows[1:], *tree.by_class)
    return next((row for row in rows if row.path and module_item(row.path) == item), None)


def show_parts(shown: Shown, row: ModuleRow) -> None:
    """Every group that works for the module, shared ones too: its answer is complete."""
    tree = shown.divided.modules
    times = f"{format_duration(row.step_ns(1))} {tree.span}"
    if shown.is_pair:
        change_ns = tree.change_ns(row)
        change = "change unknown" if change_ns is None else format_difference(change_ns)
        times = f"{format_duration(row.step_ns(0))} → {times} ({change})"
    section(row_title(row), f"{times}: all groups that work for it, with its share of each.")
    parts = parts_of(shown.divided.ledger, row)
    if not shown.is_pair:
        st.html("<p class=fs-note>Add a candidate to see what became of each group.</p>")
    run = shown.run if shown.is_pair and shown.bucket is None else None
    labels = shown.labels if shown.is_pair else shown.labels[:1]
    table = parts_table(parts, tree, run, labels, _MOST)
    show_table(table, "fs-detail fs-parts")
    if table.n_left_out:
        st.caption(f"{table.n_left_out} more groups, each faster than these.")
