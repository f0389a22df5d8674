"""GET /api/runs/export: one run of the history as a .zip, packed while it is sent.

The token names the run. Nothing of the request becomes a path.
"""

import re

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from profiler_core.ui.routes.guard import guarded

SCOPE = "export"

_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")  # in a file's name, and in a header


@guarded(SCOPE)
async def run_zip(request: Request, run_id: str) -> Response:
    """The archive of `store.history.packed`."""
    return await zip_of(run_id, request.state.person)


async def zip_of(run_id: str, person: str) -> Response:
    """The archive of a run for this person; the audit has the download before.

    Raises:
        FusionscopeError: there is no such run, or its files are not here.
    """
    from profiler_core.store import history  # late: it brings the database along

    await anyio.to_thread.run_sync(
        lambda: history.note_or_keep(person, "download", run_id, ending=".zip")
    )
    directory = await anyio.to_thread.run_sync(lambda: history.directory_of(history.run(run_id)))
    name = _UNSAFE.sub("-", run_id)[:150] or "run"
    return StreamingResponse(
        history.packed(directory),
        media_type="application/zip",
        headers={
            "Content-Disposition": f'attachment; filename="{name}.zip"',
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
        },
    )


ROUTES = (Route("/api/runs/export", run_zip, methods=["GET"]),)
