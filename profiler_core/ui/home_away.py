"""While the home of this server is away, every request but those of monitors gets one answer.

Nothing that a page or a route needs can be read then: settings, keys and sign-ins lie in the home.
The answer names no folder, for anybody may ask; the log does, once. Pages that are open show the
sentence as any other problem.
"""

import logging

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from profiler_core.home import HomeAway, home_directory
from profiler_core.ui.own_machine.gate import is_health
from profiler_core.ui.routes.guard import problem

_TRY_AGAIN_LATER = 1013  # of a websocket

_log = logging.getLogger(__name__)


class WhileHomeIsAway:
    """ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app
        self._is_away = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or say that nothing can be done now."""
        if scope["type"] not in ("http", "websocket") or is_health(scope) or self._is_here():
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _TRY_AGAIN_LATER, "reason": ""})
        else:
            answer = problem(
                503,
                "The folder in which this server keeps everything is away.",
                "Tell whoever runs the server, whose log names the folder.",
            )
            await answer(scope, receive, send)

    def _is_here(self) -> bool:
        try:
            home_directory()
        except HomeAway as away:
            if not self._is_away:
                _log.error("Nothing is answered: %s", away)
            self._is_away = True
            return False
        if self._is_away:
            _log.warning("The home is back.")
        self._is_away = False
        return True


WHILE_HOME_IS_AWAY = Middleware(WhileHomeIsAway)
