"""Which neighbours stayed two kernels, and why."""

import streamlit as st

from profiler_core.analysis.rows.unfused import unfused_table
from profiler_core.session.pair import Pair
from profiler_core.ui.page import section
from profiler_core.ui.table import show_table

_SHOWN, _MOST = 6, 40  # rows at first, and unfolded
_KIND = "fs-detail fs-told fs-unfused"


def show_unfused(pair: Pair) -> None:
    """The pairs that pass a large intermediate through memory; nothing where there are none."""
    pairs = pair.explanation.not_fused
    if not pairs:
        return
    span = pair.ledger.span
    section(
        "Not fused",
        f"What {pair.labels[1]} writes to memory in one call of its generated code and reads in "
        "another. At stake is at most what the memory needs for it; "
        "the reasons are those of the generated code, or Inductor's own where its log has them.",
    )
    show_table(unfused_table(pairs[:_SHOWN], _SHOWN, span), _KIND)
    if len(pairs) > _SHOWN:
        with st.expander(f"{len(pairs) - _SHOWN} more", type="compact"):
            show_table(unfused_table(pairs[_SHOWN:], _MOST, span), _KIND)
