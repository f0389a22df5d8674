"""The document of a page tells Streamlit's client where the server is.

Without it the client takes the path of a page for the path of the server first: it asks
`/fusion/_stcore/health`, is answered 404 twice, which the browser's console reports, and waits half
a second before it asks at the right address. The page lies right below the server in every address,
behind a proxy that adds a path too, so the browser works it out from its own.

The document also notes in a cookie whether the window is wide: what is as wide as Python says, the
first column of a table, has to be told before the page is drawn.

And it keeps the keys that are pressed before the search box is there to take them: the box comes
when its page has run, and goes while another page is drawn.
"""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from profiler_core.ui.ahead import page_of

_HEAD = b"<head>"
WIDE_COOKIE = "fusionscope_wide"
_WIDE_PX = 1700  # from which a table has room for more of a name
_ADDRESS = 'window.__streamlit={BACKEND_BASE_URL:new URL(".",window.location.href).href};'
_WIDTH = (  # over TLS under the prefix without which `host_cookies` lets no cookie pass
    'document.cookie=(location.protocol=="https:"?["__Host-",";Secure"]:["",""])'
    f'.join("{WIDE_COOKIE}="+(innerWidth>={_WIDE_PX}?1:0)+";Path=/;SameSite=Strict")'
)
_KEYS = (  # events are told nothing of their path once they are over
    "window.fusionscopeKeys=[];"
    'addEventListener("keydown",event=>{'
    # What follows "/" is for the box: Streamlit would run again at an "r", and empty caches at "c".
    'if(fusionscopeKeys.some(({event,within})=>event.key=="/"&&'
    '!within?.closest?.("input,textarea,select,[contenteditable=true]"))'
    "&&!event.ctrlKey&&!event.metaKey)event.stopPropagation();"
    "fusionscopeKeys.push({event,within:event.composedPath()[0]})},true);"
    'addEventListener("pointerdown",()=>{fusionscopeKeys.length=0},true)'
)


class BaseAddress:
    """ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write the script into the document of a page; all else is passed on as it is."""
        script = _script(scope)
        if not script:
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
                    document = document.replace(_HEAD, _HEAD + script, 1)
                    MutableHeaders(scope=start)["Content-Length"] = str(len(document))
                    await send(start)
                    await send({**message, "body": document})
            else:
                await send(message)

        await self._app(_unpacked(scope), receive, with_script)


def _script(scope: Scope) -> bytes:
    """What the document of a page begins with; b"" where another thing is asked for.

    A page at the server's own address needs no help to find the server.
    """
    if scope["type"] != "http" or scope["method"] != "GET":
        return b""
    spec, name = page_of(scope["path"]), scope["path"].rpartition("/")[2]
    if spec is None or not (name == spec.name or (spec.is_start and not name)):
        return b""
    return f"<script>{_ADDRESS if name else ''}{_WIDTH};{_KEYS}</script>".encode()


def _is_document(message: Message) -> bool:
    kind = MutableHeaders(scope=message).get("content-type", "")
    return message["status"] == 200 and kind.startswith("text/html")


def _unpacked(scope: Scope) -> Scope:
    """The request of a document that nobody packs: it has some 4 kB."""
    headers = [header for header in scope["headers"] if header[0] != b"accept-encoding"]
    return {**scope, "headers": headers}
