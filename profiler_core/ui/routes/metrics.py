"""GET /api/metrics: the numbers of this process in OpenMetrics, for who sends the token.

There is no such address where the settings name no token: a monitor needs no sign-in, and others
must not learn how busy a server is.
"""

import hmac

import anyio
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from profiler_core.errors import FusionscopeError
from profiler_core.settings import settings
from profiler_core.ui.metrics.counted import count_refused
from profiler_core.ui.metrics.text import CONTENT_TYPE, metrics_text
from profiler_core.ui.routes.guard import problem, unauthorized

PATH = "/api/metrics"
_SCHEME = "Bearer "


async def metrics(request: Request) -> Response:
    """All of them, or a refusal."""
    try:
        token = settings().metrics_token
    except FusionscopeError as error:
        count_refused("settings")
        return problem(503, error.problem, error.remedy)
    if token is None:
        return PlainTextResponse("Not Found", status_code=404)
    authorization = request.headers.get("Authorization", "")
    # Of bytes: a header may hold what compare_digest refuses as text.
    if not authorization.startswith(_SCHEME) or not hmac.compare_digest(
        authorization.removeprefix(_SCHEME).strip().encode(), token.encode()
    ):
        count_refused("token")
        return unauthorized(
            "The token of the metrics is missing or wrong.",
            "Send metrics_token of settings.toml: Authorization: Bearer TOKEN.",
        )
    # In a thread: the database may take its time.
    text = await anyio.to_thread.run_sync(metrics_text)
    return Response(text, headers={"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"})


ROUTES = (Route(PATH, metrics, methods=["GET"]),)
