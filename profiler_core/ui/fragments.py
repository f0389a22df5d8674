"""Fragments of HTML drawn as one element: Streamlit raises where there are none."""

from collections.abc import Iterable

import streamlit as st


def show_fragments(fragments: Iterable[str]) -> None:
    """One after another; nothing where all are empty."""
    html = "".join(fragments)
    if html.strip():
        st.html(html)
