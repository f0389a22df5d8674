"""Page: what did the compiler do, where did it give up, and what does that cost?"""

import streamlit as st

from profiler_core.analysis.compilation.phases import compile_phases
from profiler_core.page_specs import PageSpec
from profiler_core.ui.candidate import candidate_run
from profiler_core.ui.compilation.breaks import show_breaks, show_eager
from profiler_core.ui.compilation.code import show_code
from profiler_core.ui.compilation.data import compiled_runs
from profiler_core.ui.compilation.headline import choose_compiled, show_headline
from profiler_core.ui.compilation.tables import (
    show_cudagraphs,
    show_failures,
    show_hints,
    show_recompiles,
    show_regions,
    show_traced_regions,
    show_tracing,
)
from profiler_core.ui.compilation.time import show_phases
from profiler_core.ui.cut_traces import show_cut_traces
from profiler_core.ui.empty_state import no_compiling
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import loading, page
from profiler_core.ui.run_picker import choose_runs

SPEC = PageSpec(
    title="Compilation",
    icon=":material/build:",
    question="What did the compiler do, where did it give up, and what does that cost?",
    section="Look closer",
    order=140,
    needs="runs",
    words="graph breaks recompiles guards compile time cuda graphs cudagraphs compiler errors",
    parameters=("run", "code"),
    writes_headline=True,
    draws_figures=True,
)

with page(SPEC):
    choice = choose_runs()
    with loading(height_px=560):
        runs = compiled_runs(choice)
    show_cut_traces(choice)
    if not runs:
        no_compiling(choice)
        show_traced_regions(choice)
        st.stop()

    compiled = choose_compiled(runs, candidate_run(choice))
    report = compiled.report
    show_headline(compiled)
    show_eager(compiled)
    show_breaks(compiled)
    show_recompiles(compiled)
    show_phases(compile_phases(report.log))
    show_tracing(report)
    show_cudagraphs(report)
    show_regions(report)
    show_failures(report)
    show_code(compiled)
    show_hints(report)
    show_notes([*report.log.warnings, *(bound.sentence for bound in report.log.lower_bound)])
