"""Page: which setting of torch.compile is the fastest? Try them and measure."""

import streamlit as st

from profiler_core.page_specs import PageSpec
from profiler_core.ui.capture.style import write_capture_style
from profiler_core.ui.experiments.listing import experiment_list
from profiler_core.ui.experiments.panel import experiment_panel
from profiler_core.ui.experiments.start import experiment_form
from profiler_core.ui.page import page
from profiler_core.ui.runs.trash import show_last_deletion
from profiler_core.ui.sweep.style import write_sweep_style

SPEC = PageSpec(
    title="Experiments",
    icon=":material/science:",
    question="Which setting of torch.compile is the fastest for a model? Try them and measure.",
    section="Runs",
    order=215,
    needs="nothing",
    words="try next max-autotune mode settings tune",
    parameters=("experiment",),
    draws_figures=True,
)

with page(SPEC) as first_line:
    write_capture_style()
    write_sweep_style()
    experiment_id = st.query_params.get("experiment")
    # A container even where it stays empty: what refreshes itself must keep its place.
    show_last_deletion()
    with st.container():
        if experiment_id:
            experiment_panel(experiment_id)
    left, right = st.columns([1.4, 1], gap="large")
    with left:
        experiment_form()
    with right:
        experiment_list(experiment_id, first_line)
