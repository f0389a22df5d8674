"""What of the fusion page lies in its URL besides the filters and the open dossier: candidates.

`?of=2`: the groups of the second candidate are listed. `beside=no` shows one candidate's map
alone. The filters' widgets bind their own parameters (filters.py).
"""

from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.item import group_item
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.ui.dossier.address import item_in_url, open_item

OF = "of"  # counted from 1
_BESIDE = "beside"
_RUNS = "fs_fusion_runs"  # what the page showed last in this session


def candidate_in_url(labels: Sequence[str], default: int) -> int:
    """Which candidate is shown, counted from 0: of an open dossier that which it is beside.

    Args:
        labels: of the candidates; links of earlier versions name one by it.
        default: which where the URL names none.
    """
    text, item = st.query_params.get(OF, ""), item_in_url()
    number = default if item is None or item.candidate is None else item.candidate - 1
    if text in labels:
        number = labels.index(text)
    elif text.isascii() and text.isdigit() and len(text) < 6:
        number = int(text) - 1
    return number if 0 <= number < len(labels) else default


def group_in_url(candidate: int) -> int | None:
    """Place in a candidate's ledger of the group whose dossier is open; None: of none of its."""
    item = item_in_url()
    numbers = item.numbers if item is not None and item.kind == "group" else None
    return numbers[1] if numbers is not None and numbers[0] == candidate + 1 else None


def beside_in_url() -> bool:
    """Are all candidates to be drawn?"""
    return st.query_params.get(_BESIDE) != "no"


def forget_other_runs(keys: tuple[str, ...]) -> None:
    """Close what is open when other runs are chosen: the numbers are those of another ledger."""
    before = st.session_state.get(_RUNS)
    st.session_state[_RUNS] = keys
    if before is not None and before != keys:
        st.query_params.pop(OF, None)


def list_candidate(candidate: int) -> None:
    """List the groups of another candidate; what is open closes."""
    open_item(None, of=str(candidate + 1))


def open_group(candidate: int, folded: FoldedGroup) -> None:
    """Open the dossier of the slowest of some equal groups; it leads to the others."""
    open_item(group_item(candidate + 1, folded.slowest), of=str(candidate + 1))


def show_candidate(candidate: int | None, listed: int) -> None:
    """Look at one candidate alone; None: at all of them beside each other.

    Args:
        candidate: counted from 0.
        listed: the one whose groups were listed until now.
    """
    if candidate is None:
        st.query_params.pop(_BESIDE, None)
        return
    if candidate != listed:
        open_item(None)  # of another ledger
    st.query_params[OF] = str(candidate + 1)
    st.query_params[_BESIDE] = "no"
