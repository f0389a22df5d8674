"""Page: which kernels of the baseline became which kernel of the candidate."""

import streamlit as st

from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.wording.first_lines import fusion_line
from profiler_core.analysis.wording.sentence import of_run
from profiler_core.page_specs import PageSpec
from profiler_core.ui.cut_traces import show_cut_traces
from profiler_core.ui.drawn import let_browser_draw
from profiler_core.ui.fusion.coverage import show_coverage, show_left
from profiler_core.ui.fusion.data import all_fused
from profiler_core.ui.fusion.filters import PROGRAM, choose_filters, choose_order, filtered
from profiler_core.ui.fusion.map import choose_candidates, show_map
from profiler_core.ui.fusion.table import choose_listed, offer_events, show_table
from profiler_core.ui.fusion.unfused import show_unfused
from profiler_core.ui.notes import show_notes
from profiler_core.ui.over_ranks import notes_of_one_rank, show_over_ranks
from profiler_core.ui.page import loading, page
from profiler_core.ui.run_picker import choose_runs

SPEC = PageSpec(
    title="Fusion",
    icon=":material/merge:",
    question="What became of each operator, and what did that save?",
    section="Look closer",
    order=130,
    needs="traces",
    words="slower faster fused groups generated code triton ledger sankey not fused",
    parameters=("beside", "order", "find", "change", "kernels", "module"),
    asks="ledger",
)

with page(SPEC) as first_line:
    choice = choose_runs()
    with st.container(horizontal=True, gap="medium"):
        drawn, listed = choose_candidates(choice)
        place_of_order = st.empty()
        with place_of_order:
            order = choose_order()
    with loading(height_px=640):
        fused_pairs = all_fused(choice, drawn)
    if not fused_pairs:
        first_line.drop_question()  # the cards say why there is no answer
        place_of_order.empty()  # of nothing
        st.stop()
    show_cut_traces(choice)
    listed = listed if listed in fused_pairs else next(iter(fused_pairs))

    fused = fused_pairs[listed]
    first_line.answer(
        fusion_line(fused.labels, fold(fused.ledger.groups), fused.time_word, fused.ledger.span)
    )
    show_coverage(fused_pairs)
    filters = choose_filters([fused.ledger for fused in fused_pairs.values()], order)
    shown = {number: filtered(fused.ledger, filters) for number, fused in fused_pairs.items()}
    if filters.are_set:
        show_left(fused_pairs[listed], shown[listed])
    if any(shown.values()):
        show_map(fused_pairs, shown, listed, program_order=order == PROGRAM)
        let_browser_draw()
    choose_listed(fused_pairs, listed)
    if shown[listed]:
        measured = fused_pairs[listed].measured
        show_table(fused_pairs[listed], shown[listed], listed, measured)
        offer_events(fused_pairs[listed])
    else:
        st.html("<p class=fs-note>No group matches these filters.</p>")
    show_over_ranks(fused_pairs[listed])
    show_unfused(fused_pairs[listed])
    show_notes(notes_of_one_rank(choice))
    show_notes(
        of_run(fused.labels[1], note) if len(fused_pairs) > 1 else note
        for fused in fused_pairs.values()
        for note in fused.ledger.notes
    )
    show_notes(
        of_run(label, note)
        for label, run in zip(fused_pairs[listed].labels, fused_pairs[listed].runs, strict=True)
        for note in run.measured.notes
    )
