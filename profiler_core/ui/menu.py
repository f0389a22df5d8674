"""The menu: which pages there are, in which order, under which address.

A page's address is the name of its file. Only files that exist are listed, so that a page
appears the moment it is there.
"""

from dataclasses import dataclass

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from profiler_core.resources import pages_directory


@dataclass(frozen=True)
class _Item:
    name: str  # of the file, and of the address
    title: str
    icon: str


# Section -> its pages. The first page is the default and answers at "/".
_SECTIONS: dict[str, tuple[_Item, ...]] = {
    "": (_Item("overview", "Overview", ":material/speed:"),),
    "Look closer": (
        _Item("timeline", "Timeline", ":material/view_timeline:"),
        _Item("kernels", "Kernels", ":material/bar_chart:"),
        _Item("fusion", "Fusion", ":material/merge:"),
        _Item("compilation", "Compilation", ":material/build:"),
        _Item("memory", "Memory", ":material/memory:"),
        _Item("telemetry", "Telemetry", ":material/monitor_heart:"),
        _Item("ranks", "Ranks", ":material/lan:"),
    ),
    "Runs": (
        _Item("capture", "Capture", ":material/radio_button_checked:"),
        _Item("sweep", "Sweeps", ":material/stacked_line_chart:"),
        _Item("runs", "Runs and uploads", ":material/folder_open:"),
        _Item("review", "Review", ":material/rate_review:"),
        _Item("activity", "Activity", ":material/history:"),
    ),
}


_DEFAULT = "overview"

# On a team's server only: on one's own machine everything was done by oneself.
_FOR_ADMINS = frozenset({"activity"})


def menu(*, for_admin: bool = False) -> dict[str, list[StreamlitPage]]:
    """The pages for `st.navigation`, by section; sections without a page are left out.

    Args:
        for_admin: with the pages for who looks after a team's server.
    """
    sections: dict[str, list[StreamlitPage]] = {}
    for section, items in _SECTIONS.items():
        pages = [
            _page(item)
            for item in items
            if _file_exists(item) and (for_admin or item.name not in _FOR_ADMINS)
        ]
        if pages:
            sections[section] = pages
    for pages in sections.values():
        pages += [_by_its_name(page) for page in pages if page.url_path == ""]
    return sections


def _file_exists(item: _Item) -> bool:
    return (pages_directory() / f"{item.name}.py").is_file()


def _page(item: _Item) -> StreamlitPage:
    is_default = item.name == _DEFAULT
    return st.Page(
        pages_directory() / f"{item.name}.py",
        title=item.title,
        icon=item.icon,
        # The default page would reserve its own name, though it does not answer to it.
        url_path="" if is_default else item.name,
        default=is_default,
    )


def _by_its_name(default: StreamlitPage) -> StreamlitPage:
    """What answers at `/overview`: it goes on to "/" with the address's parameters."""

    def go_on() -> None:
        asked = {name: st.query_params.get_all(name) for name in st.query_params}
        st.switch_page(default, query_params=asked)

    return st.Page(go_on, title=default.title, url_path=_DEFAULT, visibility="hidden")
