"""Page: when each operator and kernel ran, baseline and candidates on one axis."""

import streamlit as st

from profiler_core.analysis.wording.first_lines import timeline_line
from profiler_core.page_specs import PageSpec
from profiler_core.ui.cut_traces import show_cut_traces
from profiler_core.ui.page import page
from profiler_core.ui.perfetto.menu import offer_perfetto
from profiler_core.ui.run_picker import choose_runs
from profiler_core.ui.timeline.show import show_timeline

SPEC = PageSpec(
    title="Timeline",
    icon=":material/view_timeline:",
    question="When did each kernel run, and who was waiting for whom?",
    section="Look closer",
    order=110,
    needs="traces",
    words="idle gaps waits streams threads trace events launches flow",
    draws_dossier=True,
    parameters=("step", "window", "span", "event", "rank"),
)

with page(SPEC) as first_line:
    choice = choose_runs()
    notice = st.container()  # above the canvas; asked once the traces are read
    shown = show_timeline(choice)
    with notice:
        show_cut_traces(choice)
    runs = choice.comparison.runs
    first_line.answer(timeline_line(choice.labels, [run.known_summary for run in runs]))
    offer_perfetto(shown)
    if all(run.without_work for run in runs):
        first_line.drop_question()  # the cards say what the traces hold instead
    elif not first_line.is_answer:
        # Nothing is left to be drawn: now the numbers may take their time.
        first_line.answer(timeline_line(choice.labels, [run.summary for run in runs]))
