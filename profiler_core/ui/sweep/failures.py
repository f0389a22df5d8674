"""What failed at which value: in few words below the headline, in full below the table."""

from html import escape

import streamlit as st

from profiler_core.analysis.sweep.series import Sweep
from profiler_core.analysis.wording.sweep import short_failures, shortened_failures
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section


def show_short_failures(sweep: Sweep) -> None:
    """One line for each; nothing where all went well."""
    sentences = short_failures(sweep)
    if sentences:
        st.html("".join(f'<p class="fs-sub fs-w">{escape(text)}</p>' for text in sentences))


def show_what_is_missing(sweep: Sweep, problems: tuple[str, ...]) -> None:
    """The errors as the runs have them, and what could not be read."""
    whole = shortened_failures(sweep)
    if whole or problems:
        section("What these numbers leave out")
        show_notes([*whole, *problems])
