"""An answer that is given before the body of its request was read: a refusal, mostly.

The server would close the connection with bytes unread, the system then resets it, and a proxy in
between loses the answer: it says "502 Bad Gateway" in place of "413, 30 GB are more than you may".
So the answer is sent, and what still comes is read and thrown away until the other side closes.
"""

import time

import anyio
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MOST_S = 30.0  # as long as nginx itself reads on after an early answer
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})


class EarlyAnswers:
    """ASGI middleware; in front of all that may refuse."""

    def __init__(self, app: ASGIApp, most_s: float = _MOST_S) -> None:
        """Wrap `app`; `most_s` is how long bytes are thrown away."""
        self._app = app
        self._most_s = most_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hold back the end of an answer until its request has ended."""
        if scope["type"] != "http" or scope["method"] in _WITHOUT_BODY:
            await self._app(scope, receive, send)
            return
        is_read = False

        async def note_end() -> Message:
            nonlocal is_read
            message = await receive()
            is_read = message["type"] == "http.disconnect" or not message.get("more_body", False)
            return message

        async def send_and_wait(message: Message) -> None:
            is_end = message["type"] == "http.response.body" and not message.get("more_body")
            if not is_end or is_read:
                await send(message)
                return
            await send({**message, "more_body": True})
            deadline = time.monotonic() + self._most_s
            with anyio.move_on_after(self._most_s):
                while not is_read and time.monotonic() < deadline:
                    await note_end()
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app(scope, note_end, send_and_wait)


EARLY_ANSWERS = Middleware(EarlyAnswers)
