"""POST /api/mcp: the tools for agents over the Model Context Protocol, by API token.

The protocol's own application is made outside of the pages and handed in (`app.py`); here stands
who gets through to it. Each request stands alone: there are no sessions that outlive a token.
"""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import anyio
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from profiler_core.door.asker import Asker, Refused, asking, why_no_capture
from profiler_core.errors import FusionscopeError
from profiler_core.ui.routes.bearer import Admitted, admission
from profiler_core.ui.routes.guard import problem
from profiler_core.ui.sign_in.asker import asker_of

# Makes the application of the protocol, with the tools that capture or without.
Protocol = Callable[..., Starlette]

_PATH = "/mcp"  # where the protocol's own application answers


class Agents:
    """ASGI application; see the module."""

    def __init__(self, protocol: Protocol) -> None:
        """Nothing is made before somebody asks: it takes a second."""
        self._protocol = protocol
        self._running: dict[bool, ASGIApp] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = anyio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer whose token allows it."""
        if scope["method"] != "POST":  # there is no stream that the server speaks on by itself
            only_post = problem(405, "Only POST is answered here.", "Send a message.")
            only_post.headers["Allow"] = "POST"
            await only_post(scope, receive, send)
            return
        admitted = await admission(HTTPConnection(scope), "read", "look")
        if isinstance(admitted, Response):
            await admitted(scope, receive, send)
            return
        from profiler_core.store.history.audit import acting_via  # late: it brings the database

        asker = asker_of(admitted.visitor)
        try:
            application = await self._of(allow_capture=why_no_capture(asker) is None)
        except FusionscopeError as error:
            await problem(503, error.problem, error.remedy)(scope, receive, send)
            return
        inside = {**scope, "path": _PATH, "raw_path": _PATH.encode(), "root_path": ""}
        with ExitStack() as stack:
            stack.enter_context(acting_via(admitted.via))
            stack.enter_context(asking(asker, partial(_asker_now, admitted)))
            await application(inside, receive, send)

    async def _of(self, *, allow_capture: bool) -> ASGIApp:
        async with self._lock:
            if allow_capture not in self._running:
                made = await anyio.to_thread.run_sync(
                    lambda: self._protocol(allow_capture=allow_capture)
                )
                is_ready = asyncio.Event()
                task = asyncio.create_task(_live(made, is_ready))
                self._tasks.add(task)  # until the server ends, which cancels it
                await is_ready.wait()
                if task.done():
                    task.result()  # raises what kept it from starting
                self._running[allow_capture] = made
        return self._running[allow_capture]


def _asker_now(admitted: Admitted) -> Asker:
    """With the rights of this moment: the body may have come late, and a question waits its turn.

    Raises:
        Refused: the token opens nothing any more.
    """
    still = admitted.again()
    if isinstance(still, Response):
        raise Refused(
            "The API token, or its person, may not do this any more.",
            remedy="Ask who runs the server.",
        )
    return asker_of(still.visitor)


async def _live(application: Starlette, is_ready: asyncio.Event) -> None:
    try:
        async with application.router.lifespan_context(application):
            is_ready.set()
            await anyio.sleep_forever()
    finally:
        is_ready.set()  # nobody waits for what did not start


def agents_routes(protocol: Protocol) -> tuple[Route, ...]:
    """The route, for an application of the protocol."""
    return (Route("/api/mcp", Agents(protocol), methods=["GET", "POST", "DELETE"]),)
