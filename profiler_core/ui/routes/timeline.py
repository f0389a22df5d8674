"""GET /api/timeline/view and …/find: a window of one trace, and its events by name.

…/view is what a window of one trace shows, as a packet for the canvas.

Parameters: start_ns, end_ns (on the trace's axis), width (pixels), lanes ("0,1,5"; all where
absent). The token names the trace. 0.1 to 5 ms of work at 5 million events.

…/find is the next event after or before a moment whose name holds some words. Parameters: words,
at_ns, way ("after" or "before").
"""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from profiler_core.ui.routes.guard import guarded, problem

if TYPE_CHECKING:
    from profiler_core.timeline.find import Hits

SCOPE = "timeline"

# A window beyond this is a mistake or an attack: numpy would overflow. 2**53 ns are 104 days.
_LIMIT_NS = 2**53


@guarded(SCOPE)
async def view_packet(request: Request, trace_key: str) -> Response:
    """The packet of `timeline.packet` for the trace that the token names."""
    try:
        start_ns, end_ns, width = (
            int(request.query_params[name]) for name in ("start_ns", "end_ns", "width")
        )
        listed = request.query_params.get("lanes")
        lanes = None if listed is None else [int(n) for n in listed.split(",") if n]
    except (KeyError, ValueError):
        return problem(
            400, "start_ns, end_ns and width must be whole numbers.", "Open the page again."
        )
    if not -_LIMIT_NS < start_ns < end_ns < _LIMIT_NS:
        return problem(400, "The window is empty or too wide.", "Open the page again.")

    started = time.perf_counter()
    body = await anyio.to_thread.run_sync(_packet, trace_key, start_ns, end_ns, width, lanes)
    elapsed_ms = (time.perf_counter() - started) * 1e3
    return Response(
        body,
        media_type="application/octet-stream",
        headers={
            "Cache-Control": "private, max-age=600",
            "Vary": "X-Fusionscope-Token",
            "Server-Timing": f"view;dur={elapsed_ms:.2f}",
        },
    )


def _packet(
    trace_key: str, start_ns: int, end_ns: int, width: int, lanes: list[int] | None
) -> bytes:
    # Imported late: polars and pyarrow would add a second to the server's start.
    from profiler_core.timeline.cache import index_of_key
    from profiler_core.timeline.packet import encode
    from profiler_core.timeline.view import view

    index = index_of_key(trace_key)
    return encode(index, view(index, start_ns, end_ns, width, lanes))


@guarded(SCOPE)
async def next_event(request: Request, trace_key: str) -> Response:
    """The next event by name, and how many there are, as JSON."""
    words, way = (request.query_params.get(name, "") for name in ("words", "way"))
    try:
        at_ns = int(request.query_params["at_ns"])
    except (KeyError, ValueError):
        at_ns = _LIMIT_NS
    if not -_LIMIT_NS < at_ns < _LIMIT_NS or way not in ("after", "before"):
        return problem(
            400, "at_ns must be a whole number, and way after or before.", "Open the page again."
        )
    hits = await anyio.to_thread.run_sync(_hits, trace_key, words, at_ns, way == "after")
    return JSONResponse(asdict(hits), headers={"Cache-Control": "no-store"})


def _hits(trace_key: str, words: str, at_ns: int, forward: bool) -> "Hits":
    from profiler_core.timeline.cache import index_of_key
    from profiler_core.timeline.find import find

    return find(index_of_key(trace_key), words, at_ns, forward=forward)


ROUTES = (
    Route("/api/timeline/view", view_packet, methods=["GET"]),
    Route("/api/timeline/find", next_event, methods=["GET"]),
)
