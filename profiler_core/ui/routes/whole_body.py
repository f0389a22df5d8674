"""Asks again who it is once the body of a request is whole: it may come piece by piece for hours.

A token that is revoked meanwhile, a role that is taken away, a sign-out: what was begun before
must not be done after.
"""

from collections.abc import Callable

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

_WITH_BODY = ("POST", "PUT")


class NoLongerAllowed(Exception):
    """The refusal that the request is answered with."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status_code)
        self.response = response


def checked_when_whole(request: Request, refusal: Callable[[], Response | None]) -> Request:
    """The same request, whose last piece of the body is handed over only to who may still send it.

    Args:
        request: as it came; one without a body stays as it is.
        refusal: asked in a thread; None: it is still allowed.
    """
    if request.method not in _WITH_BODY:
        return request
    receive = request.receive

    async def received() -> Message:
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            refused = await anyio.to_thread.run_sync(refusal)
            if refused is not None:
                raise NoLongerAllowed(refused)
        return message

    return Request(request.scope, received)
