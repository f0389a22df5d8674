"""The browser hears with a page's document that it will need the library of figures.

Streamlit's client asks for Plotly (5 MB of script) when the first figure arrives, and draws nothing
before it has it. Told at once, the browser fetches and compiles it while the page's script runs.
"""

from functools import cache
from pathlib import Path

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from profiler_core.errors import BadInput
from profiler_core.page_specs import page_at
from profiler_core.ui.server import base_path


class FigureLibraryHint:
    """ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add a header to the document of a page that draws figures."""
        script = _script() if scope["type"] == "http" and _draws_figures(scope["path"]) else None
        if script is None:
            await self._app(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    link = f"<{base_path()}/static/js/{script}>; rel=modulepreload; crossorigin"
                    headers.append("Link", link)
            await send(message)

        await self._app(scope, receive, told)


def _draws_figures(path: str) -> bool:
    try:
        spec = page_at(path.removeprefix(base_path()).strip("/"))
    except BadInput:  # a page's file is damaged; the menu says so
        return False
    return spec is not None and spec.draws_figures


@cache
def _script() -> str | None:
    """The file of Streamlit's client with Plotly in it; None: this Streamlit names it otherwise."""
    folder = Path(streamlit.__file__).parent / "static" / "static" / "js"
    scripts = sorted(folder.glob("PlotlyChart.*.js"))
    return scripts[0].name if len(scripts) == 1 else None


HINT = Middleware(FigureLibraryHint)
