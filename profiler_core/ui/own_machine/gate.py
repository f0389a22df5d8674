"""In front of every request, websockets and assets included: only browsers that were let in.

And only from processes of the owner (`peer.py`): the cookie alone may have been stolen.

A request of any page with `?enter=TOKEN` exchanges the token for the cookie and goes on to the
same page without it. On a server where people sign in the gate lets everything through: the sign-in
decides there.
"""

import ipaddress
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode

import anyio
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from profiler_core.errors import FusionscopeError
from profiler_core.operate.addresses import is_loopback
from profiler_core.store import browser_links
from profiler_core.ui.metrics.counted import count_refused
from profiler_core.ui.own_machine.announcing import show_next_link
from profiler_core.ui.own_machine.cookie import admit, is_admitted
from profiler_core.ui.own_machine.peer import was_sent_by_owner
from profiler_core.ui.own_machine.refused import refused
from profiler_core.ui.routes.guard import problem
from profiler_core.ui.routes.origin import foreign, refusal
from profiler_core.ui.security_headers import SecurityHeaders
from profiler_core.ui.server import base_path
from profiler_core.ui.sign_in.needed import is_needed

# For monitors, and for `open` to find this server; none says anything about runs, and the last
# wants a token of its own.
_HEALTH = ("/_stcore/health", "/api/health", "/api/ready", "/api/metrics")
_REFUSED_SOCKET = 1008  # "policy violation"; a server that has not accepted it yet answers 403


class OwnMachineGate:
    """ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp, on_entry: Callable[[], None]) -> None:
        """Wrap `app`; `on_entry` is called after a token was used, in a thread."""
        self._app = app
        self._on_entry = on_entry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, exchange its token, or refuse it."""
        if scope["type"] not in ("http", "websocket") or is_health(scope):
            await self._app(scope, receive, send)
            return
        response = await self._instead(scope, receive)
        if response is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _REFUSED_SOCKET, "reason": ""})
        else:
            await response(scope, receive, send)

    async def _instead(self, scope: Scope, receive: Receive) -> Response | None:
        """What is answered in place of the application; None: the request may go on."""
        connection = HTTPConnection(scope)
        token = _taken_out(scope) if scope["type"] == "http" else None
        if token is not None and scope["method"] == "GET":
            return await self._exchanged(connection, token)
        error = None
        try:
            if is_needed():
                return None
        except FusionscopeError as unreadable:  # the settings: nobody new is let in
            error = unreadable
        if not (is_admitted(connection) and _came_over_loopback(scope)):
            count_refused("settings" if error else "token")
            return refused(connection, error)
        if not await was_sent_by_owner(scope):
            count_refused("user")
            return refused(connection, is_of_another=True)
        is_socket = scope["type"] == "websocket"
        elsewhere = foreign(connection) if is_socket else refusal(Request(scope, receive))
        if elsewhere is None:
            return None
        count_refused("origin")
        return problem(403, elsewhere, "Use the page that this server itself serves.")

    async def _exchanged(self, connection: HTTPConnection, token: str) -> Response:
        """Back to the page without the token; with the cookie where the token was good."""
        was_good = await anyio.to_thread.run_sync(browser_links.use, token)
        if not was_good and not is_admitted(connection):
            return refused(connection, is_used_link=True)
        response = RedirectResponse(_address(connection.scope), status_code=303)
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cache-Control"] = "no-store"
        if was_good:
            admit(response, over_tls=connection.scope["scheme"] == "https")
            await anyio.to_thread.run_sync(self._on_entry)
        return response


def is_health(scope: Scope) -> bool:
    """Does a monitor ask, or `open`?"""
    base = base_path()
    return (
        scope["type"] == "http"
        and scope["method"] in ("GET", "HEAD")
        and scope["path"] in [f"{base}{path}" for path in _HEALTH]
    )


def _taken_out(scope: Scope) -> str | None:
    """The token in the address; taken out of the request, so that no log of the server shows it."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    tokens: list[str] = [value for name, value in query if name == browser_links.PARAMETER]
    if not tokens:
        return None
    others = [(name, value) for name, value in query if name != browser_links.PARAMETER]
    scope["query_string"] = urlencode(others).encode("latin-1")
    return tokens[0]


def _address(scope: Scope) -> str:
    """Path and query of the request, as a browser takes them for an address of this server."""
    path = scope.get("raw_path") or scope["path"].encode()
    query = scope["query_string"].decode("latin-1")
    # "//host/" would lead to another server.
    clean = "/" + path.decode("latin-1").partition("?")[0].lstrip("/\\")
    return f"{clean}?{query}" if query else clean


def _came_over_loopback(scope: Scope) -> bool:
    """False where the request reached an address of this machine that others reach too.

    Streamlit's own setting is checked at the start; another way to start the server has others.
    """
    host = (scope.get("server") or ("", None))[0]
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True  # a name or the path of a socket: nothing to be told from it
    return is_loopback(host)


MIDDLEWARE = (Middleware(SecurityHeaders), Middleware(OwnMachineGate, on_entry=show_next_link))
