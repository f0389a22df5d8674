"""Page: what has been measured here; open it, upload more, delete."""

import streamlit as st

from profiler_core.page_specs import PageSpec
from profiler_core.ui.address import in_address
from profiler_core.ui.page import page, section
from profiler_core.ui.runs.baseline import show_baselines
from profiler_core.ui.runs.elsewhere import show_captures_elsewhere
from profiler_core.ui.runs.mix_runs import mix_runs
from profiler_core.ui.runs.open_path import open_by_path
from profiler_core.ui.runs.profile_server import profile_server
from profiler_core.ui.runs.run_list import show_runs
from profiler_core.ui.runs.sweep_list import show_sweeps
from profiler_core.ui.runs.trash import show_trash
from profiler_core.ui.runs.trends import show_trends
from profiler_core.ui.upload.panel import upload_panel

SPEC = PageSpec(
    title="Runs and uploads",
    icon=":material/folder_open:",
    question="What has been measured, and how have the numbers changed over time?",
    section="Runs",
    order=230,
    needs="nothing",
    words="upload import traces delete history trend regression webhook mail",
    parameters=(
        "view", "find", "number", "axis", "workload", "variant", "gpu", "torch", "branch", "tag",
        "person", "commit", "point", "period", "captures", "uploads", "samples", "charts",
    ),
)  # fmt: skip

_LIST, _TRENDS = "All runs", "Trends"

with page(SPEC) as first_line:
    view = st.segmented_control(
        "View", [_LIST, _TRENDS], default=_LIST, required=True,
        label_visibility="collapsed", **in_address("view", _LIST),
    )  # fmt: skip
    if view == _TRENDS:
        show_trends(first_line)
    else:
        section("Bring your own")
        upload_panel()
        with st.container(horizontal=True, gap="medium"):
            with st.expander("Open files of this server by their path", type="compact"):
                open_by_path()
            with st.expander("Profile a running inference server", type="compact"):
                profile_server()
            with st.expander("Compare runs of different captures", type="compact"):
                mix_runs()
        show_baselines()
        show_sweeps()
        show_runs(first_line)
        show_captures_elsewhere()
        show_trash()
