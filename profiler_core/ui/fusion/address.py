"""What of the fusion page lies in its URL besides the filters and the open dossier: candidates.

`?of=2`: the groups of the second candidate are listed. `beside=no` shows one candidate's map
alone. The filters' widgets bind their own parameters (filters.py).
"""

import streamlit as st

from profiler_core.analysis.item import group_item
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.ui.candidate import tell_of
from profiler_core.ui.dossier.address import item_in_url, open_item

_BESIDE = "beside"


def group_in_url(candidate: int) -> int | None:
    """Place in a candidate's ledger of the group whose dossier is open; None: of none of its."""
    item = item_in_url()
    numbers = item.numbers if item is not None and item.kind == "group" else None
    return numbers[1] if numbers is not None and numbers[0] == candidate + 1 else None


def beside_in_url() -> bool:
    """Are all candidates to be drawn?"""
    return st.query_params.get(_BESIDE) != "no"


def open_group(candidate: int, folded: FoldedGroup) -> None:
    """Open the dossier of the slowest of some equal groups; it leads to the others."""
    open_item(group_item(candidate + 1, folded.slowest), of=str(candidate + 1))


def show_candidate(candidate: int | None) -> None:
    """Look at one candidate alone, counted from 0; None: at all of them beside each other."""
    if candidate is None:
        st.query_params.pop(_BESIDE, None)
        return
    tell_of(candidate)
    st.query_params[_BESIDE] = "no"
