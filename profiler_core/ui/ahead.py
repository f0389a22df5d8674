"""What a page asks of its runs is computed while the browser still starts Streamlit's client.

From the document of a page to the first run of its script a second passes. The address says which
runs the page shows, so their numbers are asked for at once; the script finds them in the cache, or
waits there for what is being made.

Nothing is read for the first time: the page does that, with progress. And nothing is asked where
people sign in: anybody gets a document there, while else the gate of one's own machine stands in
front.
"""

import logging
from threading import BoundedSemaphore, Thread
from urllib.parse import parse_qs

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.page_specs import PageSpec, page_at
from profiler_core.ui.server import base_path
from profiler_core.ui.sign_in.needed import is_needed

_MOST_AT_ONCE = 2  # documents; the pages of others ask for themselves
_free = BoundedSemaphore(_MOST_AT_ONCE)

_log = logging.getLogger(__name__)


class Ahead:
    """ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin to compute what the page of this address asks for, and go on at once."""
        if scope["type"] == "http" and scope["method"] == "GET":
            begin(scope["path"], scope["query_string"].decode("latin-1"))
        await self._app(scope, receive, send)


def page_of(path: str) -> PageSpec | None:
    """The page at a path of the server; None: there is none, or it cannot be read."""
    try:
        return page_at(path.removeprefix(base_path()).strip("/"))
    except BadInput:  # a page's file is damaged; the menu says so
        return None


def begin(path: str, query: str) -> Thread | None:
    """Compute what a page asks for, in a thread; None: it asks for nothing, or others are at it.

    Args:
        path: of its address.
        query: what follows the question mark.
    """
    spec = page_of(path)
    if spec is None or not spec.asks or not _free.acquire(blocking=False):
        return None
    thread = Thread(target=_ask, args=(spec, query), name="ahead of a page", daemon=True)
    thread.start()
    return thread


def _ask(spec: PageSpec, query: str) -> None:
    try:
        if is_needed():
            return
        # Late: the server answers before all this is imported (`ui/startup.py`).
        from profiler_core.session.ahead import make_ahead
        from profiler_core.store import catalogue
        from profiler_core.ui.choice import keys_of, open_choice

        keys = keys_of(parse_qs(query)) or catalogue.first()
        if keys:
            make_ahead(open_choice(keys).comparison, ledger=spec.asks == "ledger")
    except (FusionscopeError, OSError):  # the page meets the same, and says so
        return
    except Exception as error:  # likewise
        _log.info("Nothing was computed ahead of %s", spec.name, exc_info=error)
    finally:
        _free.release()


AHEAD = Middleware(Ahead)
