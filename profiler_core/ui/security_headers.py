"""What every answer tells the browser: whom to trust, what to load, where it may be framed.

Streamlit's client compiles functions (`unsafe-eval`) and writes styles and scripts inline; all else
comes from this server alone. Over TLS, which a proxy ends and says so in X-Forwarded-Proto, cookies
become Secure and this host's alone (`host_cookies.py`), and the browser is told to come back over
TLS only: a visitor who sends that header himself changes his own answer, no other's.
"""

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from profiler_core.ui.host_cookies import with_prefix, without_prefix
from profiler_core.ui.routes.origin import is_over_tls
from profiler_core.ui.server import base_path

_POLICY = (
    "default-src 'self'",
    "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self' data: blob:",
    "worker-src 'self' blob:",
    "frame-src 'self' data: blob:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'self'",
)
HEADERS = {
    "Content-Security-Policy": "; ".join(_POLICY),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",  # of browsers that know no frame-ancestors
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
OVER_TLS = {"Strict-Transport-Security": "max-age=31536000"}


class SecurityHeaders:
    """ASGI middleware; what an answer has set itself stays."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to the answer of a plain request; take strange cookies from any."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        over_tls = is_over_tls(HTTPConnection(scope))
        has_prefix = not base_path()
        if has_prefix:
            headers = without_prefix(scope["headers"], over_tls=over_tls)
            scope = {**scope, "headers": headers}
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in (HEADERS | OVER_TLS if over_tls else HEADERS).items():
                    headers.setdefault(name, value)
                if over_tls:
                    answered = message["headers"]
                    if has_prefix:
                        answered = [with_prefix(*header) for header in answered]
                    message["headers"] = [_secure(*header) for header in answered]
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _secure(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    attributes = [attribute.strip().lower() for attribute in value.split(b";")[1:]]
    if name.lower() != b"set-cookie" or b"secure" in attributes:
        return name, value
    return name, value + b"; Secure"
