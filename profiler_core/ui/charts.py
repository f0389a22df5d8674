"""Plotly figures on a page: our colours, no mode bar, a sentence for those who cannot see them."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

# Whole before a page draws: a figure asks any pandas among the modules for its Series, also one
# that the thread of ui/startup.py is importing at that moment.
import pandas  # noqa: F401
import streamlit as st

from profiler_core.figures.template import CONFIG, Figure


def show_figure(
    figure: Figure, *, key: str, alt: str, on_pick: Callable[[str], None] | None = None
) -> None:
    """Draw a figure as wide as its place.

    Args:
        figure: its points have what `on_pick` is told as their custom data.
        key: of the element.
        alt: what it shows, for whoever does not see it.
        on_pick: told what was clicked.
    """
    if on_pick is None:
        st.plotly_chart(figure, theme=None, config=CONFIG, key=key, alt=alt)
        return
    # Heat maps have none, and tell of no click: points that lie on their cells do.
    figure.update_traces(
        unselected={"marker": {"opacity": 1}}, selector=lambda trace: "unselected" in trace
    )
    st.plotly_chart(
        figure, theme=None, config=CONFIG, key=key, alt=alt, selection_mode="points",
        on_select=lambda: _tell(key, on_pick),
    )  # fmt: skip


def _tell(key: str, on_pick: Callable[[str], None]) -> None:
    points = st.session_state[key]["selection"]["points"]
    data: Any = points[0].get("customdata") if points else None
    picked = data[0] if isinstance(data, list | tuple) and data else data
    if isinstance(picked, str):
        on_pick(picked)


def show_legend(entries: Sequence[tuple[str, str]]) -> None:
    """(label, colour) pairs in their order, wrapping as text does."""
    items = "".join(
        f'<span class=fs-key><span class=fs-swatch style="background:{color}"></span>'
        f"{escape(label)}</span>"
        for label, color in entries
    )
    st.html(f"<p class=fs-legend>{items}</p>")
