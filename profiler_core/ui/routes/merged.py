"""GET /api/perfetto/merged: the chosen runs as one trace, for the page that hands it to Perfetto.

The token names an order that a page has shown; nothing of the request becomes a
path.
"""

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from profiler_core.door.turns import Turns
from profiler_core.store.orders import kept_order
from profiler_core.ui.file_from_command import file_from_command
from profiler_core.ui.routes.guard import guarded, problem
from profiler_core.ui.sign_in.asker import asker_of

SCOPE = "merged"

_MAKING = Turns(16, 2, "makes merged traces")  # each waits for a job; further ones hold no thread


@guarded(SCOPE)
async def merged_trace(request: Request, key: str) -> Response:
    """The file that `export` writes, made anew by it in a process of its own."""
    order = await anyio.to_thread.run_sync(kept_order, key)
    if order is None:  # hundreds were offered since
        return problem(404, "The server does not know these runs any more.", "Reload the page.")
    who = asker_of(request.state.visitor)
    body = await _MAKING.run(request.state.person, lambda: file_from_command(order, who))
    return Response(
        body,
        media_type="application/gzip",
        headers={"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"},
    )


ROUTES = (Route("/api/perfetto/merged", merged_trace, methods=["GET"]),)
