"""Where somebody wanted to go who was asked to sign in first: a link to a review, say.

The way over the provider ends at the start page, so the address is kept here meanwhile, by the
random cookie that Streamlit gives each browser. In memory and bounded: strangers can fill it.
"""

import time
from collections import OrderedDict
from threading import Lock

import streamlit as st
from streamlit.web.server.starlette.starlette_app_utils import decode_xsrf_token_string

from profiler_core.page_specs import page_spec, start_page
from profiler_core.ui.links import go_to, page_in_url

_COOKIE = "_streamlit_xsrf"
_KEEP_S = 900.0  # a sign-in with a second factor takes minutes
_MOST, _LONGEST = 500, 4000  # addresses, and characters of one

_kept: "OrderedDict[bytes, tuple[float, str, dict[str, list[str]]]]" = OrderedDict()
_lock = Lock()


def remember() -> None:
    """Keep the address of this script run; the start page is no place to come back to."""
    browser = _browser()
    page = page_in_url()
    spec = page_spec(page) or start_page()
    names = [name for name in spec.address_parameters if name in st.query_params]
    query = {name: st.query_params.get_all(name) for name in names}
    if browser is None or not (page or query) or len(str(query)) > _LONGEST:
        return
    with _lock:
        _kept[browser] = (time.monotonic(), page, query)
        _kept.move_to_end(browser)
        while len(_kept) > _MOST:
            _kept.popitem(last=False)


def go_on() -> None:
    """Now signed in: to where this browser wanted to go, once."""
    browser = _browser()
    if browser is None or browser not in _kept:
        return
    with _lock:
        at, page, query = _kept.pop(browser, (0.0, "", {}))
    # Only from the start page, where the provider sends everybody: nobody is led off another.
    if time.monotonic() - at < _KEEP_S and not (page_in_url() or st.query_params):
        go_to(page or start_page().name, query)


def _browser() -> bytes | None:
    """The random number in the cookie, which is masked anew each time; None: there is none."""
    cookie = st.context.cookies.get(_COOKIE)
    return decode_xsrf_token_string(cookie)[0] if cookie else None
