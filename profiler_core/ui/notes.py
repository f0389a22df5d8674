"""Sentences about what the numbers leave out, below them, quietly."""

from collections.abc import Iterable
from html import escape

import streamlit as st

_SHOWN = 4


def show_notes(sentences: Iterable[str]) -> None:
    """Each distinct sentence once; more than a few are folded."""
    distinct = list(dict.fromkeys(sentences))
    if not distinct:
        return
    st.html(_paragraphs(distinct[:_SHOWN]))
    if len(distinct) > _SHOWN:
        with st.expander(f"{len(distinct) - _SHOWN} more notes", type="compact"):
            st.html(_paragraphs(distinct[_SHOWN:]))


def _paragraphs(sentences: list[str]) -> str:
    return "".join(f"<p class=fs-note>{escape(sentence)}</p>" for sentence in sentences)
