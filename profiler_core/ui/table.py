"""A table of analysis on a page."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.rows.table import Table
from profiler_core.markup import Markup, render
from profiler_core.ui.dossier.address import item_link

_FRAME_ROW_PX = 31  # of st.dataframe, at the theme's size of type
_FRAME_BORDERS_PX = 3


def frame_height(n_rows: int, *, most_px: int) -> int:
    """Height of an st.dataframe with its head: no empty rows below, none cut before `most_px`."""
    return min(most_px, _FRAME_BORDERS_PX + _FRAME_ROW_PX * (1 + max(1, n_rows)))


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
