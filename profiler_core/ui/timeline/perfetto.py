"""The runs of the timeline as one file for Perfetto."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.store.library import Entry
from profiler_core.ui.file_from_command import Order, file_name, offer_file

_ENDING = ".json.gz"


def offer_perfetto(shown: Sequence[Entry]) -> None:
    """A small menu: what is in the file, the download, and where to open it.

    Args:
        shown: the runs of the file, the baseline first; without any there is no menu.
    """
    if not shown:
        return
    run = shown[0].run
    with st.popover("Perfetto", type="tertiary", icon=":material/open_in_new:", width="content"):
        st.caption(
            "One trace of all chosen runs, aligned at the start of the first profiled step, with "
            "fusion groups as arguments and arrows, and with memory and power as counters."
        )
        offer_file(
            "Download the merged trace",
            Order("export", tuple(entry.path for entry in shown), _ENDING),
            name=file_name("perfetto", run.workload or run.name or ""),
            mime="application/gzip",
            key="perfetto_download",
        )
        st.link_button("Open ui.perfetto.dev", "https://ui.perfetto.dev")
        st.caption("Drop the file there: it is read in your browser and sent nowhere.")
