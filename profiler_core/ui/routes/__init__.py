"""Plain HTTP routes next to Streamlit, for what reruns are bad at: packets, uploads, files.

They are outside st.login, so each checks a signed token (`guard.py`). To add a route: a module
with `ROUTES`, listed here; nothing else.
"""

from starlette.routing import BaseRoute, Mount, Route

from profiler_core.ui.routes.files import ROUTES as FILES
from profiler_core.ui.routes.health import ROUTES as HEALTH
from profiler_core.ui.routes.merged import ROUTES as MERGED
from profiler_core.ui.routes.ready import ROUTES as READY
from profiler_core.ui.routes.run_zip import ROUTES as RUN_ZIP
from profiler_core.ui.routes.timeline import ROUTES as TIMELINE
from profiler_core.ui.server import base_path
from profiler_core.ui.upload.route import ROUTES as UPLOAD


def all_routes() -> list[BaseRoute]:
    """Every route of ours, below `server.baseUrlPath` as Streamlit's own are."""
    prefix = base_path()
    return [
        _below(prefix, route)
        for route in (*HEALTH, *READY, *TIMELINE, *MERGED, *UPLOAD, *RUN_ZIP, *FILES)
    ]


def _below(prefix: str, route: Route | Mount) -> BaseRoute:
    # Not one Mount around all: an empty prefix would match every address and hide Streamlit.
    if isinstance(route, Mount):
        return Mount(prefix + route.path, app=route.app)
    return Route(prefix + route.path, route.endpoint, methods=sorted(route.methods or ()))
