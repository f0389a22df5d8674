"""Page: where did the memory go, in the baseline and in the candidate?"""

import streamlit as st

from profiler_core.analysis.wording.sentence import of_run
from profiler_core.page_specs import PageSpec
from profiler_core.ui.candidate import choose_candidate
from profiler_core.ui.cut_traces import show_cut_traces
from profiler_core.ui.empty_state import no_memory
from profiler_core.ui.memory.curve import show_curves
from profiler_core.ui.memory.data import remembered
from profiler_core.ui.memory.headline import show_headline
from profiler_core.ui.memory.live import show_live
from profiler_core.ui.memory.segments import show_segments
from profiler_core.ui.memory.vanished import show_vanished
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import loading, page
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.run_picker import choose_runs

SPEC = PageSpec(
    title="Memory",
    icon=":material/memory:",
    question="Where did the memory go, in the baseline and in the candidate?",
    section="Look closer",
    order=150,
    needs="runs",
    words="peak allocated reserved out of memory oom vram allocator segments pools fragmentation",
    parameters=("beside", "memory_what", "memory_step"),
    writes_headline=True,
    draws_figures=True,
)

with page(SPEC):
    choice = choose_runs()
    beside = choose_candidate(choice) + 1 if choice.candidates else None
    with loading(height_px=640):
        runs = remembered(choice, (0,) if beside is None else (0, beside))
        comparison = None if beside is None else choice.comparison.pairs[beside - 1].memory
    show_cut_traces(choice)
    for run in runs:
        for problem, remedy in run.problems:
            problem_card(problem, remedy)
    if all(run.report.is_empty for run in runs):
        no_memory(choice, [of_run(run.label, note) for run in runs for note in run.report.notes])
        st.stop()

    show_headline(runs, comparison)
    show_curves(runs)
    if comparison is not None:
        show_vanished(comparison, runs[0], runs[1])
    show_live(runs, choice.comparison)
    show_segments(runs)
    show_notes(of_run(run.label, note) for run in runs for note in run.report.notes)
