"""Links between pages, with the chosen runs and whatever else a page keeps in its URL."""

from collections.abc import Mapping
from html import escape
from urllib.parse import urlencode

import streamlit as st
from streamlit.errors import StreamlitAPIException

from profiler_core.resources import pages_directory

Query = Mapping[str, str | list[str]]


def href(page: str, query: Query | None = None) -> str:
    """A relative address, right below any server.baseUrlPath; for `<a>` and table cells."""
    path = "." if page == "overview" else page
    return f"{path}?{urlencode(query, doseq=True)}" if query else path


def page_link(page: str, label: str, query: Query | None = None) -> None:
    """A link that switches the page without a reload.

    A page file opened alone has no menu and knows no other page: then it is a plain link.
    """
    file = pages_directory() / f"{page}.py"
    if not file.is_file():
        return
    try:
        st.page_link(file, label=label, query_params=dict(query) if query else None)
    except StreamlitAPIException:
        st.html(f'<a class=fs-link href="{escape(href(page, query))}">{escape(label)}</a>')


def plain_label(text: str) -> str:
    """A label that Markdown leaves alone."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]()#+-.!|<>~$:" else c for c in text)
