"""Plotly figures on a page: our colours, no mode bar, a sentence for those who cannot see them."""

import time
from collections.abc import Sequence
from html import escape

# Whole before a page draws: a figure asks any pandas among the modules for its Series, also one
# that the thread of ui/startup.py is importing at that moment.
import pandas  # noqa: F401
import streamlit as st

from profiler_core.figures.template import CONFIG, Figure

_MOMENT_S = 0.3
_HAS_DRAWN = "fs_has_drawn"


def show_figure(figure: Figure, *, key: str, alt: str) -> None:
    """Draw a figure as wide as its place; `alt` says what it shows."""
    st.plotly_chart(figure, theme=None, config=CONFIG, key=key, alt=alt)


def let_browser_draw() -> None:
    """Wait a moment, once a session, for the browser to draw what has been sent.

    Before its first figure of Plotly or its first table a browser reads and runs one or five MB of
    script, which keeps it from drawing anything for up to a second.
    """
    if _HAS_DRAWN not in st.session_state:
        st.session_state[_HAS_DRAWN] = True
        time.sleep(_MOMENT_S)


def show_legend(entries: Sequence[tuple[str, str]]) -> None:
    """(label, colour) pairs in their order, wrapping as text does."""
    items = "".join(
        f'<span class=fs-key><span class=fs-swatch style="background:{color}"></span>'
        f"{escape(label)}</span>"
        for label, color in entries
    )
    st.html(f"<p class=fs-legend>{items}</p>")
