"""GET /api/ready: can this server do its work at this moment? 200, or 503 with what cannot be used.

Beside /api/health, which only says that the process lives. Anybody may ask, so an answer names
parts and no reasons: those are in the server's log. It is kept for some seconds, so that asking
costs no more than a database can bear.
"""

import logging
import time
from threading import Lock

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from profiler_core.errors import FusionscopeError
from profiler_core.operate.parts import CHECKS

_KEPT_S = 5.0

_log = logging.getLogger(__name__)


class Readiness:
    """The state of each part, asked anew once it is older than some seconds."""

    def __init__(self, kept_s: float = _KEPT_S) -> None:
        self._kept_s = kept_s
        self._states: dict[str, bool] = {}
        self._asked_s = 0.0
        self._lock = Lock()

    def states(self) -> dict[str, bool]:
        """Part -> can it be used? Those who ask at the same time wait for one answer."""
        with self._lock:
            if not self._states or time.monotonic() - self._asked_s >= self._kept_s:
                self._states = {name: self._is_well(name) for name in CHECKS}
                self._asked_s = time.monotonic()
            return dict(self._states)

    def _is_well(self, name: str) -> bool:
        try:
            CHECKS[name]()
        except (FusionscopeError, OSError) as error:
            _log.warning("Not ready, %s: %s", name, error)
            return False
        return True


_READINESS = Readiness()


async def ready(_request: Request) -> JSONResponse:
    """For a load balancer, and for whoever watches the server."""
    states = await anyio.to_thread.run_sync(_READINESS.states)
    is_ready = all(states.values())
    parts = {name: "ok" if state else "failed" for name, state in states.items()}
    return JSONResponse(
        {"ready": is_ready, "checks": parts},
        status_code=200 if is_ready else 503,
        headers={"Cache-Control": "no-store"},
    )


ROUTES = (Route("/api/ready", ready, methods=["GET"]),)
