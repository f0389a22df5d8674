"""Links between pages, with the chosen runs and whatever else a page keeps in its URL."""

import re
from collections.abc import Mapping
from html import escape
from typing import NoReturn
from urllib.parse import urlencode, urlsplit

import streamlit as st
from streamlit.errors import StreamlitAPIException

from profiler_core.errors import BadInput
from profiler_core.page_specs import page_spec

Query = Mapping[str, str | list[str]]

# Nothing in it means anything to Markdown, an underscore inside of a word neither.
_PLAIN = re.compile(r"[^\W_](_?[^\W_]|[.+=,()·/ -])*")


def href(page: str, query: Query | None = None) -> str:
    """A relative address, right below any server.baseUrlPath; for `<a>` and table cells."""
    spec = page_spec(page)
    path = (spec.path if spec else page) or "."
    return f"{path}?{urlencode(query, doseq=True)}" if query else path


def page_in_url() -> str:
    """The name of the page in the address; "" for the start page, and where there is none."""
    name = urlsplit(st.context.url or "").path.rstrip("/").rpartition("/")[2]
    return name if page_spec(name) else ""


def page_link(page: str, label: str, query: Query | None = None) -> None:
    """A link that switches the page without a reload; nothing where there is no such page.

    A page file opened alone has no menu and knows no other page: then it is a plain link.
    """
    spec = page_spec(page)
    if spec is None:
        return
    try:
        st.page_link(spec.file, label=label, query_params=dict(query) if query else None)
    except StreamlitAPIException:
        st.html(f'<a class=fs-link href="{escape(href(page, query))}">{escape(label)}</a>')


def href_from_start(page: str, query: Query | None = None) -> str:
    """The same beside what is said on the start page too; "" where there is no such page.

    Empty for the start page itself: it would lead to where the reader comes from.
    """
    spec = page_spec(page)
    return "" if spec is None or spec.is_start else href(page, query)


def go_to(page: str, query: Query | None = None) -> NoReturn:
    """Leave this page for another one.

    Raises:
        BadInput: there is no such page.
    """
    spec = page_spec(page)
    if spec is None:
        raise BadInput(f"There is no page {page}.", remedy="Use the menu.")
    st.switch_page(spec.file, query_params=dict(query) if query else None)


def plain_label(text: str) -> str:
    """A label that Markdown leaves alone."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]()#+-.!|<>~$:" else c for c in text)


def plain_option(text: str) -> str:
    """The same of one choice of several buttons, which stands in the page's address.

    There a name in which nothing is active is to stand as it is.
    """
    return text if _PLAIN.fullmatch(text) else plain_label(text)
