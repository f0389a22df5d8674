"""GET /api/perfetto/merged: the chosen runs as one trace, for the page that hands it to Perfetto.

The token names an order that a page of this server has shown; nothing of the request becomes a
path.
"""

import hashlib
from collections import OrderedDict
from threading import Lock

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from profiler_core.ui.file_from_command import Order, file_from_command
from profiler_core.ui.routes.guard import guarded, problem
from profiler_core.ui.sign_in.asker import asker_of

SCOPE = "merged"

_MOST_ORDERS = 256  # that are remembered: a few hundred bytes each

_orders: OrderedDict[str, Order] = OrderedDict()
_lock = Lock()


def order_key(order: Order) -> str:
    """Remember an order that a page shows; what its token names."""
    key = hashlib.sha256(repr(order).encode()).hexdigest()[:32]
    with _lock:
        _orders[key] = order
        _orders.move_to_end(key)
        while len(_orders) > _MOST_ORDERS:
            _orders.popitem(last=False)
    return key


@guarded(SCOPE)
async def merged_trace(request: Request, key: str) -> Response:
    """The file that `export` writes, made anew by it in a process of its own."""
    with _lock:
        order = _orders.get(key)
    if order is None:  # the server was started again meanwhile
        return problem(404, "The server does not know these runs any more.", "Reload the page.")
    body = await anyio.to_thread.run_sync(file_from_command, order, asker_of(request.state.visitor))
    return Response(
        body,
        media_type="application/gzip",
        headers={"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"},
    )


ROUTES = (Route("/api/perfetto/merged", merged_trace, methods=["GET"]),)
