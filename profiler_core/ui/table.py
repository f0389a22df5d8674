"""A table of analysis on a page."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.rows.table import Table
from profiler_core.markup import Markup, render
from profiler_core.ui.dossier.address import item_link


def show_table(
    table: Table,
    kind: str = "",
    *,
    named: bool = False,
    width_px: int = 0,
    badges: Sequence[Markup] = (),
) -> None:
    """Draw it.

    Args:
        table: heads are names of runs, or of columns.
        kind: classes of the style sheet.
        named: the first cell of a row is its head.
        width_px: no wider than this; 0: as wide as its place.
        badges: beside the heads, one for each.
    """
    st.html(
        render(
            "page/table.html",
            table=table, kind=kind, named=named, width_px=width_px, badges=list(badges),
            item_link=item_link,
        )
    )  # fmt: skip
