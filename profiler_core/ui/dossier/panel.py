"""The panel: docked at the side of a wide window, a sheet on a phone; the same on every page."""

import streamlit as st

from profiler_core.analysis.item import Item
from profiler_core.errors import FusionscopeError
from profiler_core.ui.choice import Keys, keys_in_url, open_choice
from profiler_core.ui.dossier.address import item_in_url
from profiler_core.ui.dossier.bridge import draw_bridge
from profiler_core.ui.problem_card import problem_card


def dossier_beside() -> None:
    """Draw the panel of a page; nothing is seen of it while no dossier is open.

    In a fragment: a click on a link in the page or in the panel runs nothing else again.
    """
    keys = keys_in_url()
    if keys:
        _panel(keys)


@st.fragment
def _panel(keys: Keys) -> None:
    item = item_in_url()
    with st.container(key="fs_dossier"):
        if draw_bridge(item):
            st.rerun(scope="app")
        if item is None:
            return
        try:
            _draw(keys, item)
        except FusionscopeError as error:
            problem_card(error.problem, error.remedy)


def _draw(keys: Keys, item: Item) -> None:
    open_choice(keys)
    st.html(f"<p class='fs-dossier fs-eyebrow'>{item.kind}</p>")
    st.code(item.key, language=None, wrap_lines=True)
