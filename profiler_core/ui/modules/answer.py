"""The page's answer in a line: the most expensive operator, and what the layers changed."""

from html import escape

import streamlit as st

from profiler_core.analysis.rows.modules import most_expensive
from profiler_core.ui.modules.data import Shown


def show_answer(shown: Shown) -> None:
    """Write it; nothing where no kernel ran."""
    divided = shown.divided
    text = most_expensive(divided.modules, divided.operators, shown.labels, is_pair=shown.is_pair)
    if text:
        st.html(f"<p class=fs-sub>{escape(text)}</p>")
