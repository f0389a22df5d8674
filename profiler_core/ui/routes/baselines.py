"""GET and PUT /api/baselines for CI, by API token; a name stands in the body, never in a path."""

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from profiler_core.answers.history import BaselinesAnswer
from profiler_core.errors import BadInput
from profiler_core.ui.routes.bearer import answered, by_token, json_object
from profiler_core.ui.sign_in.visitor import Visitor


@by_token("gate", "look")
async def kept(_request: Request, who: Visitor) -> Response:
    """All baselines, as `runs baseline --json`."""

    def rows() -> BaselinesAnswer:
        from profiler_core.store import history  # late: it brings the database along

        history.note_or_keep(who.person, "look", "baselines")
        return BaselinesAnswer(history.baselines())

    return answered(await anyio.to_thread.run_sync(rows))


@by_token("gate", "mark")
async def keep(request: Request, who: Visitor) -> Response:
    """Keep a run under a name: {"name", "run_id", "note"}."""
    wish = await json_object(request)
    texts = {key: wish.get(key, "") for key in ("name", "run_id", "note")}
    if set(wish) - set(texts) or not all(isinstance(text, str) for text in texts.values()):
        raise BadInput("That is no baseline.", remedy='Send {"name": …, "run_id": …, "note": …}.')

    def kept_one() -> BaselinesAnswer:
        from profiler_core.store import history

        baseline = history.set_baseline(
            texts["name"], texts["run_id"].replace("\0", ""), person=who.person, note=texts["note"]
        )
        return BaselinesAnswer((baseline,))

    return answered(await anyio.to_thread.run_sync(kept_one))


ROUTES = (
    Route("/api/baselines", kept, methods=["GET"]),
    Route("/api/baselines", keep, methods=["PUT"]),
)
