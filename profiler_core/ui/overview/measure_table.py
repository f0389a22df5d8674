"""The comparison as one table: runs as columns, measures as rows, the change beside the value."""

import streamlit as st

from profiler_core.analysis.compare import ComparedNumbers
from profiler_core.analysis.rows.measures import definitions, measure_rows, result_rows
from profiler_core.analysis.rows.table import Table
from profiler_core.markup import Markup, render
from profiler_core.ui.states import state_badge
from profiler_core.ui.table import show_table


def show_measures(comparison: ComparedNumbers) -> None:
    """Draw the table."""
    sides = (comparison.baseline, *comparison.sides)
    rows = (*measure_rows(comparison), *result_rows(comparison))
    badges = [Markup(""), *(state_badge(side.run.record.status) for side in sides)]
    show_table(Table(("", *(side.label for side in sides)), rows), named=True, badges=badges)


def table_width_px(n_runs: int) -> int:
    """Room that the table needs before it must scroll."""
    return 220 + 138 * max(n_runs - 1, 0)


def show_definitions(comparison: ComparedNumbers) -> None:
    """Each number's meaning, folded: titles that need a mouse are not enough."""
    with st.expander("What each number means", type="compact"):
        st.html(render("page/definitions.html", definitions=definitions(comparison)))
