"""The browser tells that it has drawn what a page sent so far: it asks for a picture behind it.

Before its first figure of Plotly or its first table a browser reads and runs one or five MB of
script, which keeps it from drawing anything for up to a second. What a person looks for first is
sent ahead of them, and they wait until it is drawn.
"""

import secrets

import streamlit as st

from profiler_core.ui.routes.drawn import SCOPE, awaited
from profiler_core.ui.routes.signing import signed

_MOST_S = 1.5  # of a browser that does not tell: its tab is hidden, or the way to it is long
_HAS_DRAWN = "fs_has_drawn"


def let_browser_draw() -> None:
    """Wait, once a session, until the browser has drawn what has been sent; not under AppTest."""
    if _HAS_DRAWN in st.session_state or not st.context.headers:
        return
    st.session_state[_HAS_DRAWN] = True
    view = secrets.token_hex(8)
    with awaited(view) as is_drawn:
        # A browser asks for the picture of a box when it lays it out, right before it draws.
        st.html(
            "<style>[data-testid=stApp]::after { content:''; position:fixed; width:1px; "
            f"height:1px; background:url('api/drawn?token={signed(SCOPE, view)}') }}</style>"
        )
        is_drawn.wait(_MOST_S)
