"""What the page about telemetry shows where no chosen run was sampled."""

from html import escape

import streamlit as st

from profiler_core.ui.choice import Choice
from profiler_core.ui.links import page_link
from profiler_core.ui.telemetry.data import Recorded


def show_nothing_sampled(choice: Choice, recorded: Recorded) -> None:
    """Say why, how to get samples, and lead on."""
    reasons = "".join(f"<p class=fs-sub>{escape(sentence)}</p>" for sentence in recorded.without)
    st.html(
        "<div class=fs-empty><h1 class=fs-verdict>Nothing was sampled while these runs ran</h1>"
        f"{reasons}<p class=fs-sub>This page shows clocks, power, energy and temperature of the "
        "GPU and the CPU time of the process, and whether they were the same for all runs. A "
        "capture samples them by itself; an nvml.jsonl can be dropped on the page Runs, alone or "
        "with a trace.</p></div>"
    )
    with st.container(horizontal=True, gap="medium"):
        page_link("capture", "Start a capture", choice.query)
        page_link("runs", "Upload samples", choice.query)
