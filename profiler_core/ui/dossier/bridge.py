"""What the browser tells of the dossier: a link or a box of one was clicked, or it was closed."""

import re
from pathlib import Path
from typing import Any

import streamlit as st

from profiler_core.analysis.item import Item, read_item
from profiler_core.ui.dossier.address import close_item, open_item, pick_item

_KEY = "fs_dossier_bridge"
_HERE = Path(__file__).parent
_BRIDGE = st.components.v2.component(
    "fusionscope_dossier",
    html=(_HERE / "bridge.html").read_text("utf-8"),
    css=(_HERE / "bridge.css").read_text("utf-8"),
    js=(_HERE / "bridge.js").read_text("utf-8"),
)
_STALE = "fs_dossier_stale"  # the page itself shows what was picked, and must run again


def draw_bridge(item: Item | None) -> bool:
    """Listen to links with `data-item` and to icicles, and draw the button that closes.

    Args:
        item: what is open.

    Returns:
        Must the page run again, because it shows what is picked?
    """
    _BRIDGE(
        key=_KEY,
        data={"item": item.text if item is not None else ""},
        on_dossier_change=_open_or_close,
        on_picked_change=_picked,
    )
    return bool(st.session_state.pop(_STALE, False))


def _picked() -> None:
    item = read_item(_from_browser("picked"))
    if item is not None:
        pick_item(item)
        st.session_state[_STALE] = True


def _from_browser(trigger: str) -> str:
    state = st.session_state.get(_KEY)
    text: Any = state.get(trigger) if state is not None else None
    return text if isinstance(text, str) else ""


def _closed_at_ms(address: str) -> int:
    """When the browser closed it, by its clock, in ms; 0: it did not say."""
    match = re.fullmatch(r"close@(\d{1,15})", address)
    return int(match[1]) if match else 0


def _open_or_close() -> None:
    address = _from_browser("dossier")
    if not address:
        return
    item = read_item(address)
    if item is not None:
        open_item(item, by_link=True)
    elif close_item(_closed_at_ms(address)):
        st.session_state[_STALE] = True
