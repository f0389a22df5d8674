"""The browser hears with a page's document which scripts of Streamlit's client it will need.

The client asks for the script of each kind of element when the first such element arrives, and
draws it when that and all scripts that it imports are there: for Plotly 5 MB. Told at once, the
browser fetches and compiles them while it starts the client and the page's script runs. Where the
client finds the server stands in the document itself (`base_address.py`).
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from profiler_core.ui.ahead import page_of
from profiler_core.ui.base_address import BaseAddress
from profiler_core.ui.server import base_path

_STATIC = Path(streamlit.__file__).parent / "static"
_LARGE_BYTES = 10_000
_FIGURES = "PlotlyChart"
# Of what stands above the first figure of any page: its own markup, the menus of runs, and what
# draws timeline and fusion map.
_ELEMENTS = ("Html", "Selectbox", "Multiselect", "BidiComponent")
_IMPORTED = re.compile(r"""(?:from|import)\s*["']\./([\w.-]+\.js)["']""")


class ScriptHints:
    """ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = BaseAddress(app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add a header to the document of a page."""
        spec = page_of(scope["path"]) if scope["type"] == "http" else None
        links = _links(draws_figures=spec.draws_figures) if spec is not None else ""
        if not links:
            await self._app(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers.append("Link", links)
            await send(message)

        await self._app(scope, receive, told)


def _links(*, draws_figures: bool) -> str:
    """A value of the header Link; "": this Streamlit names its scripts otherwise."""
    scripts = [*_scripts(_ELEMENTS), *(_scripts((_FIGURES,)) if draws_figures else ())]
    root = f"{base_path()}/static/js"
    return ", ".join(
        f"<{root}/{name}>;rel=modulepreload{_priority(name)}" for name in dict.fromkeys(scripts)
    )


def _priority(name: str) -> str:
    """A header comes before its document, whose own scripts start the client that draws these.

    So what is large waits for those; for the small ones it would make the header longer.
    """
    is_large = (_folder() / name).stat().st_size > _LARGE_BYTES
    return ";fetchpriority=low" if is_large else ""


def _folder() -> Path:
    return _STATIC / "static" / "js"


@cache
def _scripts(elements: Iterable[str]) -> tuple[str, ...]:
    """The scripts of these elements and all that they import, without what every document names."""
    folder = _folder()
    document = (_STATIC / "index.html").read_text("utf-8")
    named: dict[str, None] = {}
    waiting = []
    for element in elements:
        files = sorted(folder.glob(f"{element}.*.js"))
        if len(files) == 1:
            waiting.append(files[0].name)
    while waiting:
        name = waiting.pop(0)
        if name in named or name in document or not (folder / name).is_file():
            continue
        named[name] = None
        waiting += _IMPORTED.findall((folder / name).read_text("utf-8"))
    return tuple(named)


HINTS = Middleware(ScriptHints)
