"""Sentences about what the numbers leave out, below them, quietly."""

from collections.abc import Iterable
from html import escape

import streamlit as st

from profiler_core.markup import with_units

_SHOWN = 4


def show_notes(sentences: Iterable[str]) -> None:
    """Each distinct sentence once; more than a few are folded."""
    distinct = list(dict.fromkeys(sentences))
    if not distinct:
        return
    st.html(_paragraphs(distinct[:_SHOWN]))
    n_more = len(distinct) - _SHOWN
    if n_more > 0:
        with st.expander(f"{n_more} more note{'s' if n_more > 1 else ''}", type="compact"):
            st.html(_paragraphs(distinct[_SHOWN:]))


def _paragraphs(sentences: list[str]) -> str:
    return "".join(f"<p class=fs-note>{escape(with_units(sentence))}</p>" for sentence in sentences)
