"""The comparison as one table: runs as columns, measures as rows, the change beside the value."""

import re
from functools import cache

import streamlit as st

from profiler_core.analysis.compare import ComparedNumbers
from profiler_core.analysis.rows.measures import definitions, measure_rows, result_rows
from profiler_core.analysis.rows.table import Cell, Table
from profiler_core.analysis.wording.comparison import NO_NUMBERS
from profiler_core.markup import Markup, render
from profiler_core.resources import docs_directory
from profiler_core.ui.sign_in.guard import fragment
from profiler_core.ui.states import state_badge
from profiler_core.ui.table import show_table

# Of a cell's text at the size of the style sheet: px of a character, of one of a change, around.
_CHARACTER_PX, _CHANGE_PX, _PADDING_PX = 7.6, 6.6, 20
_LEAST_CHANGE_PX = 46  # with the space before it, kept free where a value has no change
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_LEAST_PX = 90  # of a column: a run's name breaks where it must


def measures_table(comparison: ComparedNumbers) -> Table:
    """The table of all runs."""
    sides = (comparison.baseline, *comparison.sides)
    rows = (*measure_rows(comparison), *result_rows(comparison))
    return Table(("", *(side.label for side in sides)), rows)


def show_measures(table: Table, comparison: ComparedNumbers) -> None:
    """Draw it, with the state of runs that did not finish beside their names."""
    if not table.rows:
        st.html(f"<p class=fs-note>{NO_NUMBERS}</p>")
        return
    sides = (comparison.baseline, *comparison.sides)
    badges = [Markup(""), *(state_badge(side.run.record.status) for side in sides)]
    show_table(table, named=True, badges=badges)


def table_width_px(table: Table) -> int:
    """Room that the table needs before it must scroll."""
    columns = zip(*table.rows, strict=True)
    return round(sum(max(_LEAST_PX, *map(_cell_px, column)) for column in columns))


def _cell_px(cell: Cell) -> float:
    width = len(cell.text) * _CHARACTER_PX + _PADDING_PX
    if cell.change is not None:
        width += max(_LEAST_CHANGE_PX, 8 + len(cell.change.text) * _CHANGE_PX)
    return width


def show_definitions(comparison: ComparedNumbers) -> None:
    """Each number's meaning, folded: titles that need a mouse are not enough."""
    meanings = definitions(comparison)
    if not meanings:
        return
    with st.expander("What each number means", type="compact"):
        st.html(render("page/definitions.html", definitions=meanings))
        _show_how_measured()


@fragment
def _show_how_measured() -> None:
    """The documentation of how steps are timed; sent to the browser where it is asked for."""
    if st.toggle("How a capture times steps, and how sure a ratio is", key="how_measured"):
        st.markdown(how_measured())


@cache
def how_measured() -> str:
    """docs/measuring.md below its title; links to other files are their words alone."""
    text = (docs_directory() / "measuring.md").read_text("utf-8")
    return _LINK.sub(r"\1", text.partition("\n")[2])
