"""Which page of a long list is looked at: a control below it, its number in the address."""

import streamlit as st

from profiler_core.ui.address import in_address


def choose_page(name: str, n_pages: int) -> int:
    """Draw the control where there are several pages; the number of the chosen one, from 1.

    Args:
        name: of the parameter in the address.
        n_pages: of the list as it is now; a later page than the last is the last.
    """
    if n_pages < 2:
        return 1
    if st.session_state.get(name, 1) > n_pages:  # a search or a deletion left fewer
        st.session_state[name] = n_pages
    return st.pagination(n_pages, **in_address(name, "1"))
