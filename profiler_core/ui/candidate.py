"""Which of several candidates a page tells of: `?of=2`, the same on every page that tells of one.

Without it the leading one, or that which an open dossier is beside. Links of earlier versions name
one by its label, on page Memory as `beside`.
"""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from profiler_core.analysis.item import Item
from profiler_core.page_specs import CANDIDATE_PARAMETER
from profiler_core.ui.choice import Choice, of_in_url
from profiler_core.ui.dossier.address import item_in_url, open_item
from profiler_core.ui.links import plain_option

_KEY = "fs_candidate"
_EARLIER = "beside"


def candidate_in_url(labels: Sequence[str], default: int) -> int:
    """Which candidate is told of, counted from 0.

    Args:
        labels: of the candidates.
        default: which where the address names none.
    """
    of, item = of_in_url(), item_in_url()
    named = {
        st.query_params.get(name, "") for name in (CANDIDATE_PARAMETER, _EARLIER)
    }.intersection(labels)
    number = default if item is None or item.candidate is None else item.candidate - 1
    if named:
        number = labels.index(named.pop())
    elif of is not None:
        number = of - 1
    return number if 0 <= number < len(labels) else default


def candidate_of(choice: Choice) -> int:
    """The candidate that pages tell of, counted from 0; there is one."""
    return candidate_in_url(choice.labels[1:], choice.comparison.shown_first)


def candidate_run(choice: Choice) -> int:
    """The same as a place in the comparison; 0 without any candidate."""
    return candidate_of(choice) + 1 if choice.candidates else 0


def choose_candidate(choice: Choice, numbers: Sequence[int] | None = None) -> int:
    """Draw the choice of a candidate where there are several; its number, from 0.

    Args:
        choice: the runs.
        numbers: of those that can be chosen; None: all can.
    """
    offered = range(len(choice.candidates)) if numbers is None else numbers
    if len(offered) < 2:
        return offered[0] if offered else 0
    first = choice.comparison.shown_first
    shown = next((n for n in (candidate_of(choice), first) if n in offered), offered[0])
    st.session_state[_KEY] = shown
    st.segmented_control(
        "Candidate",
        offered,
        format_func=lambda number: plain_option(choice.labels[number + 1]),
        required=True,
        key=_KEY,
        label_visibility="collapsed",
        on_change=_tell_of_picked,
    )
    return shown


def _tell_of_picked() -> None:
    picked = st.session_state[_KEY]
    if picked is not None:
        tell_of(picked)


def tell_of(candidate: int) -> None:
    """Tell of a candidate, counted from 0, with an open dossier beside it too."""
    close_item_of_other_run(candidate + 1)
    item = item_in_url()
    st.query_params.pop(_EARLIER, None)
    if item is not None and item.is_by_name and item.of is not None:
        open_item(item.beside(candidate + 1), of=str(candidate + 1))
    else:
        st.query_params[CANDIDATE_PARAMETER] = str(candidate + 1)


def close_item_of_other_run(run: int) -> None:
    """Close the dossier of a group, break, finding or event of another run than is shown now."""
    item = item_in_url()
    if item is not None and item.run not in (None, run):
        open_item(None)


def beside_told(item: Item) -> Item:
    """What the address calls by name alone, beside the candidate that it names."""
    return replace(item, of=of_in_url()) if item.is_by_name and item.of is None else item
