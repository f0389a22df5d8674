"""Runs that became slower than the run before them, the newest first."""

from html import escape

import streamlit as st

from profiler_core.analysis.trend import changes_between
from profiler_core.analysis.wording.difference import regression_sentence
from profiler_core.dates import short
from profiler_core.markup import with_units
from profiler_core.store import history
from profiler_core.store.library import key_of_recorded
from profiler_core.ui.choice import query_of
from profiler_core.ui.links import page_link
from profiler_core.ui.page import section

_MOST = 5


def show_regressions() -> str:
    """A line for each, with the way to both runs; nothing where none is known.

    Returns:
        The first line's sentence; "" where there is none.
    """
    regressions = history.newest_regressions(_MOST)
    if not regressions:
        return ""
    sentences: list[str] = []
    section(
        "What became slower", "Against the run before on its line of the trends, beyond the noise."
    )
    for number, regression in enumerate(regressions):
        run, before = regression.run, regression.before
        changes = changes_between(before, run) if before is not None else ()
        sentence = regression_sentence(run, regression.difference, changes)
        sentences.append(sentence)
        with st.container(
            horizontal=True, vertical_alignment="center", gap="medium", key=f"fs_slower_{number}"
        ):
            st.html(
                f"<p style='margin:0;font-size:14px'>{escape(with_units(sentence))}</p>"
                f"<p class=fs-note style='padding:0'>{escape(short(run.created_at))} UTC</p>",
                width="stretch",
            )
            if before is not None and history.has_files(before) and history.has_files(run):
                keys = (key_of_recorded(before), key_of_recorded(run))
                page_link("overview", "Compare the two", query_of(keys))
    return sentences[0]
