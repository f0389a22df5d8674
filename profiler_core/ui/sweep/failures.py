"""What failed at which value, in whole sentences, where the headline is read."""

from html import escape

import streamlit as st

from profiler_core.analysis.sweep.series import Sweep
from profiler_core.analysis.sweep.words import failures


def show_failures(sweep: Sweep) -> None:
    """One line for each; nothing where all went well."""
    said = "".join(f'<p class="fs-sub fs-w">{escape(text)}</p>' for text in failures(sweep))
    if said:
        st.html(said)
