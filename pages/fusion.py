"""Page: which kernels of the baseline became which kernel of the candidate."""

import streamlit as st

from profiler_core.page_specs import PageSpec
from profiler_core.ui.fusion.coverage import show_coverage, show_left
from profiler_core.ui.fusion.data import all_fused
from profiler_core.ui.fusion.detail import show_group
from profiler_core.ui.fusion.filters import PROGRAM, choose_filters, choose_order, filtered
from profiler_core.ui.fusion.map import choose_candidates, show_map
from profiler_core.ui.fusion.table import choose_listed, show_table
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import loading, page
from profiler_core.ui.run_picker import choose_runs

SPEC = PageSpec(
    title="Fusion",
    icon=":material/merge:",
    question="What became of each operator, and what did that save?",
    section="Look closer",
    order=130,
    needs="traces",
    parameters=("of", "group", "beside", "order", "find", "change", "kernels", "module"),
)

with page(SPEC):
    choice = choose_runs()
    with st.container(horizontal=True, gap="medium"):
        drawn, listed = choose_candidates(choice)
        order = choose_order()
    with loading(height_px=640):
        found = all_fused(choice, drawn)
    if not found:
        st.stop()
    listed = listed if listed in found else next(iter(found))

    show_coverage(found)
    filters = choose_filters([one.ledger for one in found.values()], order)
    shown = {number: filtered(one.ledger, filters) for number, one in found.items()}
    if filters.are_set:
        show_left(found[listed], shown[listed])
    if any(shown.values()):
        show_map(found, shown, listed, program_order=order == PROGRAM)
    choose_listed(found, listed)
    if shown[listed]:
        measured = found[listed].measured
        opened = show_table(found[listed], shown[listed], listed, measured)
        if opened is not None:
            show_group(found[listed], opened, measured)
    else:
        st.html("<p class=fs-note>No group is left by these filters.</p>")
    show_notes(
        f"{one.labels[1]}: {note}" if len(found) > 1 else note
        for one in found.values()
        for note in one.ledger.notes
    )
    show_notes(
        f"{label}: {note}"
        for label, run in zip(found[listed].labels, found[listed].runs, strict=True)
        for note in run.measured.notes
    )
