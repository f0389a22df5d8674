"""GET /api/drawn: the picture that a browser asks for when it draws; the token names the view."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from profiler_core.ui.routes.guard import guarded

SCOPE = "drawn"

_PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
_awaited: dict[str, Event] = {}


@contextmanager
def awaited(view: str) -> Iterator[Event]:
    """Set when the browser asks for the picture of this view, within the block.

    Args:
        view: as the picture's token names it; another one for each.
    """
    event = _awaited[view] = Event()
    try:
        yield event
    finally:
        del _awaited[view]


@guarded(SCOPE)
async def picture(_request: Request, view: str) -> Response:
    """One empty pixel; the page that waits for it goes on."""
    event = _awaited.get(view)
    if event is not None:
        event.set()
    return Response(_PICTURE, media_type="image/svg+xml", headers={"Cache-Control": "no-store"})


ROUTES = [Route("/api/drawn", picture, methods=["GET"])]
