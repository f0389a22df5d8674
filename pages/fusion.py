"""Page: which kernels of the baseline became which kernel of the candidate."""

import streamlit as st

from profiler_core.ui.fusion.data import fused
from profiler_core.ui.fusion.detail import show_group
from profiler_core.ui.fusion.view import (
    choose_candidate,
    choose_groups,
    show_coverage,
    show_map,
    show_table,
)
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import page
from profiler_core.ui.run_picker import choose_runs

with page("Fusion", "What became of each operator, and what did that save?"):
    choice = choose_runs()
    number = choose_candidate(choice)
    with st.skeleton(height=640):
        found = fused(choice, number)

    show_coverage(found)
    shown = choose_groups(found.ledger)
    if shown:
        show_map(found, shown)
        opened = show_table(found, shown)
        if opened is not None:
            show_group(found, opened)
    else:
        st.html("<p class=fs-note>No group is left by these filters.</p>")
    show_notes(found.ledger.notes)
