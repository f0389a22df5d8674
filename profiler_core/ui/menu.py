"""The menu: the pages that exist, in the order and the sections that they declare."""

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from profiler_core.page_specs import PageSpec, page_specs


def menu(*, for_admin: bool = False, for_member: bool = False) -> dict[str, list[StreamlitPage]]:
    """The pages for `st.navigation`, by section.

    What is not for this visitor answers at its address all the same, and says why it is empty.

    Args:
        for_admin: list the pages for who looks after a team's server.
        for_member: list the pages for who signs in on one.
    """
    sections: dict[str, list[StreamlitPage]] = {}
    for spec in page_specs():
        is_listed = (for_admin or not spec.for_admins) and (for_member or not spec.for_members)
        sections.setdefault(spec.section, []).extend(_pages(spec, is_listed=is_listed))
    return sections


def _pages(spec: PageSpec, *, is_listed: bool) -> list[StreamlitPage]:
    page = st.Page(
        spec.file,
        title=spec.title,
        icon=spec.icon,
        # The default page would reserve its own name, though it does not answer to it.
        url_path=spec.path,
        default=spec.is_start,
        visibility="visible" if is_listed else "hidden",
    )
    return [page, _by_its_name(page, spec)] if spec.is_start else [page]


def _by_its_name(start: StreamlitPage, spec: PageSpec) -> StreamlitPage:
    """What answers at `/overview`: it goes on to "/" with the address's parameters."""

    def go_on() -> None:
        parameters = {name: st.query_params.get_all(name) for name in st.query_params}
        st.switch_page(start, query_params=parameters)

    return st.Page(go_on, title=spec.title, url_path=spec.name, visibility="hidden")
