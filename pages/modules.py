"""Page: where the device time goes by nn.Module and by operator, before and after compiling."""

import streamlit as st

from profiler_core.analysis.rows.modules import (
    NO_MODULES,
    how_divided,
    unknown_sentence,
)
from profiler_core.analysis.wording.groups import undecidable_sentence
from profiler_core.figures.icicle import HOW_TO_ZOOM
from profiler_core.figures.module_icicle import module_icicle
from profiler_core.page_specs import PageSpec
from profiler_core.ui.candidate import choose_candidate
from profiler_core.ui.charts import show_figure
from profiler_core.ui.modules.answer import show_answer
from profiler_core.ui.modules.data import shown_of
from profiler_core.ui.modules.detail import opened_row, show_parts
from profiler_core.ui.modules.table import show_modules, show_operators
from profiler_core.ui.modules.view import (
    CLASSES,
    LAYERS,
    choose_steps,
    choose_view,
    choose_words,
    matching,
)
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import loading, page
from profiler_core.ui.run_picker import choose_runs
from profiler_core.ui.style import colors

SPEC = PageSpec(
    title="Modules",
    icon=":material/account_tree:",
    question="Which layers and operators take the time, and what did each gain?",
    section="Look closer",
    order=125,
    needs="traces",
    words="dearest most expensive slowest layers operators nn.module blocks icicle",
    parameters=("view", "find", "steps"),
    draws_figures=True,
    asks="ledger",
)

with page(SPEC) as first_line:
    choice = choose_runs()
    number = choose_candidate(choice)
    with loading(height_px=640):
        shown = shown_of(choice, number)
    answer = st.container()
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        view = choose_view(has_modules=shown.divided.modules.is_known)
        words = choose_words()
        shown = shown.of_steps(choose_steps(shown.whole.server_buckets))
    tree, operators = shown.divided.modules, shown.divided.operators
    show_answer(shown, first_line)
    if not tree.is_known:
        answer.html(f"<p class=fs-note>{NO_MODULES}</p>")
    if view == LAYERS and not words:
        show_figure(
            module_icicle(
                tree,
                shown.labels,
                colors(),
                is_pair=shown.is_pair,
                beside=shown.beside,
            ),
            key="module_icicle",
            alt=f"Device time {tree.span} by module in each run, boxes as wide as their time; the "
            "table below has the numbers.",
        )
        st.html(f"<p class=fs-note>{HOW_TO_ZOOM}</p>")
    if view in (LAYERS, CLASSES):
        rows = tree.rows if view == LAYERS else tree.by_class
        show_modules(matching(rows, words), shown, as_tree=view == LAYERS and not words)
        opened = opened_row(shown)
        if opened is not None:
            show_parts(shown, opened)
    else:
        show_operators(matching(operators, words), shown)
    show_notes(
        note
        for note in (
            how_divided(tree.span, of_modules=view in (LAYERS, CLASSES), is_pair=shown.is_pair),
            unknown_sentence(tree, is_pair=shown.is_pair),
            undecidable_sentence(shown.divided.ledger) if shown.is_pair else "",
            *shown.divided.ledger.notes,
        )
        if note
    )
