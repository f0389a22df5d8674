"""GET /app/static/…: fonts, logos and the timeline's JavaScript modules; public, like any asset.

Streamlit would serve a `static/` folder beside the entry script only; ours lies at the top.
"""

import os
from pathlib import Path

from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from profiler_core.resources import static_directory


class _Assets(StaticFiles):
    """Static files that a browser asks about again, so that an update is never half loaded."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        unchanging = Path(full_path).suffix == ".woff2"
        response.headers["Cache-Control"] = "max-age=604800" if unchanging else "no-cache"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response


ROUTES = (Mount("/app/static", app=_Assets(directory=static_directory())),)
