"""The menu of the timeline: the runs as one trace, in Perfetto or as a file."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.store.library import Entry
from profiler_core.store.orders import Order
from profiler_core.ui.file_from_command import file_name, offer_file
from profiler_core.ui.perfetto.hand_over import offer_hand_over

_ENDING = ".json.gz"


def offer_perfetto(shown: Sequence[Entry]) -> None:
    """A small menu: what is in the trace, the way to Perfetto, and the download.

    Args:
        shown: the runs of the file, the baseline first; without any there is no menu.
    """
    if not shown:
        return
    run = shown[0].run
    workload = run.workload or run.name or ""
    order = Order("export", tuple(entry.path for entry in shown), _ENDING)
    name = file_name("perfetto", workload)
    with st.popover("Perfetto", type="tertiary", icon=":material/open_in_new:", width="content"):
        st.caption(
            "One trace of all chosen runs, aligned at the start of the first profiled step, with "
            "fusion groups as arguments and arrows, and with memory and power as counters."
        )
        variants = ", ".join(entry.variant for entry in shown)
        offer_hand_over(order, title=f"{workload}: {variants}", name=name)
        st.caption(
            "Opens ui.perfetto.dev in a new tab and gives it the trace inside your browser: the "
            "trace is uploaded nowhere. Unless this server is on your own machine, Perfetto first "
            "asks whether it may open it."
        )
        offer_file(
            "Download the merged trace",
            order,
            name=name,
            mime="application/gzip",
            key="perfetto_download",
            is_first=False,
        )
