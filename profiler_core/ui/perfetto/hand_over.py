"""A button that opens ui.perfetto.dev and gives it the trace, without a file in between."""

from pathlib import Path

import streamlit as st

from profiler_core.store.orders import Order, keep_order
from profiler_core.ui.routes.merged import SCOPE
from profiler_core.ui.routes.signing import signed

PERFETTO = "https://ui.perfetto.dev"

_HERE = Path(__file__).parent
_BUTTON = st.components.v2.component(
    "fusionscope_perfetto",
    html=(_HERE / "hand_over.html").read_text("utf-8"),
    css=(_HERE / "hand_over.css").read_text("utf-8"),
    js=(_HERE / "hand_over.js").read_text("utf-8"),
)


def offer_hand_over(order: Order, *, title: str, name: str) -> None:
    """Draw the button.

    Args:
        order: which trace; it is made when the button is clicked.
        title: what Perfetto calls it.
        name: of the file, should it be saved from there.
    """
    _BUTTON(
        key="fs_perfetto_hand_over",
        data={
            "address": PERFETTO,
            "origin": PERFETTO,
            "url": "api/perfetto/merged",
            "token": signed(SCOPE, keep_order(order)),
            "title": title,
            "file": f"{name}{order.ending}",
        },
    )
