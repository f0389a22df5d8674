"""The document of a page tells Streamlit's client where the server is.

Without it the client takes the path of a page for the path of the server first: it asks
`/fusion/_stcore/health`, is answered 404 twice, which the browser's console reports, and waits half
a second before it asks at the right address. The page lies right below the server in every address,
behind a proxy that adds a path too, so the browser works it out from its own.
"""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from profiler_core.ui.ahead import page_of

_HEAD = b"<head>"
SCRIPT = (
    b'<script>window.__streamlit={BACKEND_BASE_URL:new URL(".",window.location.href).href}</script>'
)


class BaseAddress:
    """ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write the script into the document of a page; all else is passed on as it is."""
        if not _asks_for_a_page(scope):
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        document = b""

        async def with_script(message: Message) -> None:
            nonlocal start, document
            if message["type"] == "http.response.start" and _is_document(message):
                start = message
            elif message["type"] == "http.response.body" and start is not None:
                document += message.get("body", b"")
                if not message.get("more_body", False):
                    document = document.replace(_HEAD, _HEAD + SCRIPT, 1)
                    MutableHeaders(scope=start)["Content-Length"] = str(len(document))
                    await send(start)
                    await send({**message, "body": document})
            else:
                await send(message)

        await self._app(_unpacked(scope), receive, with_script)


def _asks_for_a_page(scope: Scope) -> bool:
    """Is it a page below the server's own address? That one is right without help."""
    if scope["type"] != "http" or scope["method"] != "GET":
        return False
    spec = page_of(scope["path"])
    return spec is not None and scope["path"].rpartition("/")[2] == spec.name


def _is_document(message: Message) -> bool:
    kind = MutableHeaders(scope=message).get("content-type", "")
    return message["status"] == 200 and kind.startswith("text/html")


def _unpacked(scope: Scope) -> Scope:
    """The request of a document that nobody packs: it has some 4 kB."""
    headers = [header for header in scope["headers"] if header[0] != b"accept-encoding"]
    return {**scope, "headers": headers}
