"""Which of Streamlit's own plain routes are open, where people sign in.

Streamlit asks nobody who fetches a file that a page hands out: whoever knows its address has it,
for as long as a page is open that shows the button. Here it takes the sign-in of somebody who may
look at that moment. Its routes for uploads into memory and for agents are used by no page, and
closed: they answer anybody who has opened a websocket.

Its address for signing out forgets the sign-in in that browser alone. Here the sign-in ends, too,
as by the button: a copy of the cookie, and other tabs, have it no more. It takes any GET, with
which a link or a picture of another site signs a person out; here it takes our own page alone.

An identity that comes in several cookies is one of a single sign-in: the answer to who comes back
from the provider says which pieces are one (`sign_in/identity_cookie.py`).

Its websocket takes a page of any port of this name, to each of which browsers send the cookie of
the sign-in. Here it takes our own page alone, as the routes do; and of its messages those that our
pages send. The others need no sign-in either: one empties the caches of everybody, one names the
files of the server's checkout.
"""

import logging

import anyio
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from profiler_core.errors import FusionscopeError
from profiler_core.ui.metrics.counted import count_refused
from profiler_core.ui.routes.guard import problem
from profiler_core.ui.routes.origin import REFUSED_SOCKET, foreign, not_led_here
from profiler_core.ui.server import base_path
from profiler_core.ui.sign_in.deeds import note_sign_out
from profiler_core.ui.sign_in.ended import end
from profiler_core.ui.sign_in.identity_cookie import sealing, without_strange_pieces
from profiler_core.ui.sign_in.visitor import visitor_of

_log = logging.getLogger(__name__)

_FILES = "/media/"
_CLOSED = ("/_stcore/upload_file/", "/_stcore/agent/")
_SIGN_OUT = "/auth/logout"
_SIGNED_IN = "/oauth2callback"
# Of BackMsg and of its backend_operation_request; `docs/security.md` lists all that there are.
CLOSED_MESSAGES = frozenset({
    "clear_cache", "load_git_info", "set_run_on_save", "file_urls_request",
    "debug_disconnect_websocket", "debug_shutdown_runtime",
})  # fmt: skip
CLOSED_OPERATIONS = frozenset({"install_skills", "dismiss_skills_nudge"})
_LONGEST_MESSAGE = 1 << 22  # bytes; a page's fields hold some 100 kB at the most


class StreamlitRoutes:
    """ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer in Streamlit's place what is not open."""
        if scope["type"] == "websocket" and foreign(HTTPConnection(scope), needs_origin=False):
            count_refused("origin")
            await send({"type": "websocket.close", "code": REFUSED_SOCKET, "reason": ""})
            return
        if scope["type"] == "websocket":
            without_strange_pieces(HTTPConnection(scope))
            receive = _without_closed(receive)
        path = scope["path"].removeprefix(base_path()) if scope["type"] == "http" else ""
        if path.startswith(_CLOSED):
            nothing = problem(404, "There is nothing here.", "Use the pages of this server.")
            await nothing(scope, receive, send)
        elif path.rstrip("/") == _SIGN_OUT:
            refused = not_led_here(Request(scope))
            if refused is not None:
                count_refused("origin")
                answer = problem(403, refused, "Sign out by the button of a page.")
                await answer(scope, receive, send)
                return
            await anyio.to_thread.run_sync(_end_sign_in, Request(scope))
            await self._app(scope, receive, send)
        elif path == _SIGNED_IN:
            await self._app(scope, receive, sealing(send))
        elif path.startswith(_FILES):
            await self._app(scope, receive, _Guarded(scope, receive, send))
        else:
            await self._app(scope, receive, send)


class _Guarded:
    """Sends on what is no download (the logo on the card), and downloads to who may look."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._is_refused = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message["headers"]}
            refused = _refusal(self._scope) if b"content-disposition" in names else None
            if refused is not None:
                self._is_refused = True
                await refused(self._scope, self._receive, self._send)
        if not self._is_refused:
            await self._send(message)


def _without_closed(receive: Receive) -> Receive:
    """The same without the messages that no page of ours sends."""

    async def received() -> Message:
        while True:
            message = await receive()
            if not _is_closed(message.get("bytes") or b""):
                return message

    return received


def _is_closed(data: bytes) -> bool:
    if len(data) > _LONGEST_MESSAGE:
        return True
    message = BackMsg()
    try:
        message.ParseFromString(data)
    except Exception:  # of protobuf; Streamlit closes the connection
        return False
    operation = message.backend_operation_request.WhichOneof("payload")
    return message.WhichOneof("type") in CLOSED_MESSAGES or operation in CLOSED_OPERATIONS


def _end_sign_in(request: Request) -> None:
    try:
        who = visitor_of(request)
        if who is not None and who.holder:
            note_sign_out(who)
            end(who.holder)
    except (FusionscopeError, OSError) as error:  # this browser forgets it all the same
        _log.error("A sign-out cannot be kept: %s", error)


def _refusal(scope: Scope) -> Response | None:
    """What is answered in place of the file; None: it may be had."""
    try:
        who = visitor_of(Request(scope))
    except FusionscopeError as error:  # settings that cannot be read let nobody in
        count_refused("settings")
        return problem(503, error.problem, error.remedy)
    if who is not None and who.may("look"):
        return None
    count_refused("sign_in" if who is None else "role")
    return problem(401 if who is None else 403, "You may not have this file.", "Sign in first.")


STREAMLIT_ROUTES = Middleware(StreamlitRoutes)
