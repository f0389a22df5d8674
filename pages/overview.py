"""Page: is torch.compile worth it here, what did it cost, and where did the time go?"""

import streamlit as st

from profiler_core.analysis.side import whole_steps
from profiler_core.page_specs import PageSpec
from profiler_core.ui.drawn import let_browser_draw
from profiler_core.ui.overview.category_table import show_categories
from profiler_core.ui.overview.difference import show_difference
from profiler_core.ui.overview.headline import show_headline
from profiler_core.ui.overview.measure_table import (
    measures_table,
    show_definitions,
    show_measures,
    table_width_px,
)
from profiler_core.ui.overview.parts import show_step_bars, show_way_on, show_what_is_missing
from profiler_core.ui.overview.server import show_server_steps
from profiler_core.ui.overview.unmeasured import show_unmeasured
from profiler_core.ui.overview.why import show_run_findings, show_why
from profiler_core.ui.page import loading, page, section, two_columns
from profiler_core.ui.recording_choices import offer_recording_choices
from profiler_core.ui.report.download import offer_report
from profiler_core.ui.run_picker import choose_runs
from profiler_core.ui.runs.baseline import labels_of_choice, offer_baseline
from profiler_core.ui.upload.panel import show_upload_notes

SPEC = PageSpec(
    title="Overview",
    icon=":material/speed:",
    question="Is torch.compile worth it here, what did it cost, and where did the time go?",
    section="",
    order=10,
    needs="runs",
    words="verdict speed-up bottleneck idle regression advice finding try next improve waterfall",
    parameters=("bar",),
    writes_headline=True,
    is_start=True,
    draws_figures=True,
    asks="numbers",
)

with page(SPEC):
    choice = choose_runs()
    with loading(height_px=560):
        sides, numbers = choice.comparison.sides, choice.comparison.judged

    if not any(side.step_time_ns for side in sides):
        show_unmeasured(choice)
        show_upload_notes(choice)
        st.stop()
    show_headline(choice, numbers)
    show_upload_notes(choice)
    table = measures_table(numbers)
    left, right = two_columns(left_px=table_width_px(table))
    with left:
        section("Side by side")
        show_measures(table, numbers)
    with right:
        section("Where the time went")
        show_step_bars(sides)
        show_way_on(choice)
        offer_report(choice)
        offer_baseline(labels_of_choice(choice))

    show_server_steps(choice)
    let_browser_draw()
    number = show_difference(choice)
    below_chart = st.container()
    why = st.container()  # filled last: ledger and logs take longer than all the rest

    if any(whole_steps(side) for side in sides):
        section(f"Kernels, copies and memsets {choice.comparison.span}, by what they do")
        show_categories(sides)

    show_what_is_missing(choice.comparison)
    offer_recording_choices(choice)
    show_definitions(numbers)

    with why:
        if number is not None:
            show_why(choice, number, below_chart)
        else:
            show_run_findings(choice)
