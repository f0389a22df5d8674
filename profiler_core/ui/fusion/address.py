"""What of the fusion page lies in its URL besides the filters: candidate, open group.

`?of=2&group=17`: group 17 of the second candidate's ledger. `beside=no` shows one candidate's
map alone. The filters' widgets bind their own parameters (filters.py).
"""

import streamlit as st

from profiler_core.ui.links import Query

OF = "of"  # counted from 1
_GROUP, _BESIDE = "group", "beside"
_RUNS = "fs_fusion_runs"  # what the page showed last in this session


def candidate_in_url(n_candidates: int) -> int:
    """Whose groups are listed, counted from 0; the first where the URL names none."""
    text = st.query_params.get(OF, "")
    number = int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 6 else 0
    return number if 0 <= number < n_candidates else 0


def group_in_url() -> int | None:
    """Place of the open group's first member in its ledger."""
    text = st.query_params.get(_GROUP, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None


def beside_in_url() -> bool:
    """Are all candidates to be drawn?"""
    return st.query_params.get(_BESIDE) != "no"


def forget_other_runs(keys: tuple[str, ...]) -> None:
    """Close what is open when other runs are chosen: the numbers are those of another ledger."""
    before = st.session_state.get(_RUNS)
    st.session_state[_RUNS] = keys
    if before is not None and before != keys:
        st.query_params.pop(_GROUP, None)
        st.query_params.pop(OF, None)


def open_group(candidate: int, group: int | None) -> None:
    """Put an open group into the URL; None closes what is open."""
    st.query_params[OF] = str(candidate + 1)
    if group is None:
        st.query_params.pop(_GROUP, None)
    else:
        st.query_params[_GROUP] = str(group)


def show_candidate(candidate: int | None) -> None:
    """Look at one candidate alone; None: at all of them beside each other."""
    if candidate is None:
        st.query_params.pop(_BESIDE, None)
        return
    if candidate != candidate_in_url(candidate + 1):
        st.query_params.pop(_GROUP, None)  # a number in another ledger
    st.query_params[OF] = str(candidate + 1)
    st.query_params[_BESIDE] = "no"


def link_to_group(query: Query, candidate: int, group: int) -> dict[str, str | list[str]]:
    """URL parameters of the fusion page with a group open.

    Args:
        query: of the chosen runs, with all candidates in their order.
        candidate: counted from 0.
        group: its place in the ledger.
    """
    return {**query, OF: str(candidate + 1), _GROUP: str(group)}
