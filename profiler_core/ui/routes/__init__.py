"""Plain HTTP routes next to Streamlit, for what reruns are bad at: packets, uploads, files.

They are outside st.login, so each checks a token: one that a page signed (`guard.py`), or for CI
and agents one that a person made (`bearer.py`). To add a route: a module
with `ROUTES`, listed here; nothing else.
"""

from starlette.routing import BaseRoute, Mount, Route

from profiler_core.ui.routes.agents import Protocol, agents_routes
from profiler_core.ui.routes.api_runs import ROUTES as API_RUNS
from profiler_core.ui.routes.baselines import ROUTES as BASELINES
from profiler_core.ui.routes.drawn import ROUTES as DRAWN
from profiler_core.ui.routes.files import ROUTES as FILES
from profiler_core.ui.routes.gate import ROUTES as GATE
from profiler_core.ui.routes.health import ROUTES as HEALTH
from profiler_core.ui.routes.merged import ROUTES as MERGED
from profiler_core.ui.routes.metrics import ROUTES as METRICS
from profiler_core.ui.routes.ready import ROUTES as READY
from profiler_core.ui.routes.run_zip import ROUTES as RUN_ZIP
from profiler_core.ui.routes.timeline import ROUTES as TIMELINE
from profiler_core.ui.server import base_path
from profiler_core.ui.upload.route import ROUTES as UPLOAD

OF_MONITORS = (*HEALTH, *READY, *METRICS)
OF_BROWSERS: tuple[Route | Mount, ...] = (*DRAWN, *TIMELINE, *MERGED, *UPLOAD, *RUN_ZIP, *FILES)
OF_PROGRAMS = (*API_RUNS, *BASELINES, *GATE)  # which send an API token (`bearer.py`)


def all_routes(agents: Protocol | None = None) -> list[BaseRoute]:
    """Every route of ours, below `server.baseUrlPath` as Streamlit's own are.

    Args:
        agents: makes the application of the agents' protocol; without it there is no /api/mcp.
    """
    prefix = base_path()
    routes: list[Route | Mount] = [*OF_MONITORS, *OF_BROWSERS, *OF_PROGRAMS]
    if agents is not None:
        routes += agents_routes(agents)
    return [_below(prefix, route) for route in routes]


def _below(prefix: str, route: Route | Mount) -> BaseRoute:
    # Not one Mount around all: an empty prefix would match every address and hide Streamlit.
    if isinstance(route, Mount):
        return Mount(prefix + route.path, app=route.app)
    return Route(prefix + route.path, route.endpoint, methods=sorted(route.methods or ()))
