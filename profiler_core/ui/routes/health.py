"""GET /api/health: is this Fusionscope, and which one? Anybody may ask; it says nothing else."""

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from profiler_core.store.running import own_instance


async def health(_request: Request) -> JSONResponse:
    """For monitors, and for `open` to find a server that already runs (see store/running.py)."""
    return JSONResponse(
        {
            "product": "fusionscope",
            "instance": own_instance(),
        }
    )


ROUTES = (Route("/api/health", health, methods=["GET"]),)
