"""The files of Streamlit's client, answered in front of Streamlit.

A first visit asks for a hundred to a hundred and fifty of them, nearly all smaller than 10 kB. On
the way through Streamlit's routes each costs 2 ms of the server's processor time, read straight
from the disk 0.1 ms. Their names hold a hash of their content, so a browser asks once.
"""

from functools import cache
from mimetypes import guess_type
from pathlib import Path

import streamlit
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from profiler_core.ui.server import base_path

_FOLDERS = ("js", "css", "media")  # below `static`: where each name holds a hash
_FOR_GOOD = "public, immutable, max-age=31536000"


class ClientFiles:
    """ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a plain request of such a file; all else is Streamlit's."""
        response = _file(scope) if scope["type"] == "http" and scope["method"] == "GET" else None
        await (response or self._app)(scope, receive, send)


def _file(scope: Scope) -> Response | None:
    path = _files().get(scope["path"].removeprefix(base_path()))
    if path is None or any(name in (b"range", b"if-range") for name, _ in scope["headers"]):
        return None
    try:
        content = path.read_bytes()
    except OSError:  # a Streamlit that was changed under the server; it says so itself
        return None
    return Response(
        content,
        media_type=guess_type(path.name)[0] or "application/octet-stream",
        headers={"Cache-Control": _FOR_GOOD},
    )


@cache
def _files() -> dict[str, Path]:
    """By the path of their address. Only what is here can be asked for."""
    static = Path(streamlit.__file__).parent / "static" / "static"
    return {
        f"/static/{path.relative_to(static).as_posix()}": path
        for folder in _FOLDERS
        for path in (static / folder).glob("**/*")
        if path.is_file()
    }


CLIENT_FILES = Middleware(ClientFiles)
