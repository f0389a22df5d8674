"""How many kernels of each kind a step runs and how long they take, all runs side by side."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.rows.categories import category_rows
from profiler_core.analysis.side import Side
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.markup import render
from profiler_core.ui.style import colors

_BAR_PX = 72
_LONGEST_HEAD = 34  # characters of a run's name
_WIDTHS = (280, 290)  # px: of the names, and of each run


def show_categories(sides: Sequence[Side]) -> None:
    """One row a category; for each run the count, and a bar of the time beside it.

    Bars share one scale. They show the time that stands beside them, not the count: many short
    kernels would else look dearer than a few long ones.
    """
    rows = category_rows(sides)
    st.html(
        render(
            "page/categories.html",
            rows=rows,
            heads=[clipped(side.label, _LONGEST_HEAD) for side in sides],
            palette=colors(),
            bar_px=_BAR_PX,
            longest_ns=max((run[1] for row in rows for run in row.runs if run), default=0.0),
            width_px=_WIDTHS[0] + _WIDTHS[1] * len(sides),
        )
    )
