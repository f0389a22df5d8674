"""Page: run a workload eager and compiled, here or elsewhere, and measure what changed."""

import streamlit as st

from profiler_core.door.asker import why_no_capture
from profiler_core.page_specs import PageSpec
from profiler_core.ui.capture.form import capture_form
from profiler_core.ui.capture.list import capture_list
from profiler_core.ui.capture.machine import machine, machine_card
from profiler_core.ui.capture.progress import job_panel
from profiler_core.ui.capture.refill import fill_form
from profiler_core.ui.capture.start import command_line, start
from profiler_core.ui.capture.style import write_capture_style
from profiler_core.ui.capture.where import chosen_host, host_card
from profiler_core.ui.jobs.listing import line_of_jobs
from profiler_core.ui.page import page, section
from profiler_core.ui.sign_in.asker import asker

SPEC = PageSpec(
    title="Capture",
    icon=":material/radio_button_checked:",
    question="What does torch.compile do to your model? Run it and see.",
    section="Runs",
    order=210,
    needs="nothing",
    words="record measure profile benchmark",
    parameters=("job",),
)

with page(SPEC) as first_line:
    write_capture_style()
    job_id = st.query_params.get("job")
    # A container even where it stays empty: what refreshes itself below must keep its place.
    with st.container():
        if job_id:
            job_panel(job_id)
            fill_form(job_id)

    refusal = why_no_capture(asker())
    left, right = st.columns([1.9, 1], gap="large")
    with left:
        section("New capture")
        python = st.session_state.get("fs_c_python") or None
        # Asking runs the interpreter: not for somebody who may not capture.
        host = chosen_host()
        interpreter = None if refusal or host else machine(python)
        checked = capture_form(interpreter)
        if st.button("Start capture", type="primary", disabled=bool(refusal or not checked.spec)):
            st.query_params["job"] = start(checked.spec, host)
            st.rerun()
        if refusal:
            st.caption(refusal)
    with right:
        # Above what fills itself in late: a row must not move under the hand that clicks it.
        with st.container():
            first_line.answer(line_of_jobs(capture_list(job_id), "capture"))
        if not refusal and host:
            section("That machine")
            host_card(host)
        elif not refusal:
            section("This environment" if python else "This machine")
            with st.container():
                machine_card(python)
        with st.container():
            command_line(checked.spec, host)
