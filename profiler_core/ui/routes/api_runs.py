"""Runs for CI and agents, by API token: GET and POST /api/runs, GET /api/runs/archive?run=ID.

The answers are those of `runs list --json` and `runs import --json` (docs/json.md). What is pushed
goes the way of an upload: the same limits, quota and queue, the same checks of what is inside.
"""

from dataclasses import fields

import anyio
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from profiler_core.answers.history import ImportAnswer, RunsAnswer, run_answer
from profiler_core.door import deeds
from profiler_core.door.turns import Turns
from profiler_core.door.waiting import until_ended
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.jobs import service as jobs
from profiler_core.store import incoming
from profiler_core.ui.routes.bearer import answered, by_token, check_still_allowed
from profiler_core.ui.routes.run_zip import zip_of
from profiler_core.ui.routes.whole_body import NoLongerAllowed
from profiler_core.ui.sign_in.asker import asker_of
from profiler_core.ui.sign_in.visitor import Visitor
from profiler_core.ui.upload.route import take_file

_MOST_LISTED, _USUALLY_LISTED = 1000, 50
_PUSHING = Turns(8, 2, "records a push")  # none of them waits until it is read


@by_token("read", "look")
async def listed(request: Request, who: Visitor) -> Response:
    """Recorded runs, the newest first; the filters of `runs list` are parameters."""

    def rows() -> RunsAnswer:
        from profiler_core.store import history  # late: it brings the database along

        filters = {field.name for field in fields(history.RunFilter)}
        limit, chosen = _question(request.query_params, filters, history.FILTERS)
        history.note_or_keep(who.person, "look", "runs", **chosen)
        recorded = history.listed_runs(history.RunFilter(**chosen), limit=limit)  # type: ignore[arg-type]
        return RunsAnswer(tuple(map(run_answer, recorded)))

    return answered(await anyio.to_thread.run_sync(rows))


@by_token("read", "look")
async def archive(request: Request, who: Visitor) -> Response:
    """One run as a .zip."""
    run_id = request.query_params.get("run", "")
    if not run_id.strip() or not run_id.isprintable():
        raise BadInput("No run was named.", remedy="Add ?run= and its id.")
    return await zip_of(run_id, who.person)


@by_token("upload", "upload")
async def push(request: Request, who: Visitor) -> Response:
    """Take a .zip of a run or a capture (or a trace), record it, and answer with its runs."""
    upload_id = incoming.new_upload_id()
    name = incoming.kept_name(request.query_params.get("name", "run.zip"))
    partial = incoming.part_path(upload_id, 0)
    try:
        taken = await take_file(request, upload_id, partial, name, who.person)
    except NoLongerAllowed:
        incoming.forget(upload_id)
        raise
    if isinstance(taken, Response):
        incoming.forget(upload_id)
        return taken

    def started() -> str:
        from profiler_core.store.history.audit import means  # late: it brings the database along

        try:
            return deeds.start_recording_push(
                asker_of(who), upload_id, incoming.shown(name), means()
            )
        except FusionscopeError:
            incoming.forget(upload_id)
            raise

    def recorded() -> ImportAnswer:
        from profiler_core.store import history
        from profiler_core.store.history.pushed import Pushed

        check_still_allowed(request)  # it took minutes, perhaps
        pushed = jobs.result(job_id, Pushed)
        runs = tuple(run_answer(history.run(run_id)) for run_id in pushed.run_ids)
        return ImportAnswer(runs, pushed.notes)

    job_id = await _PUSHING.run(who.person, started)
    # It goes on where the program that pushes hangs up.
    await until_ended(_PUSHING, who.person, lambda: jobs.job(job_id).is_live)
    return answered(await _PUSHING.run(who.person, recorded))


def _question(
    query: QueryParams, names: set[str], lists: tuple[str, ...]
) -> tuple[int, dict[str, tuple[str, ...] | str]]:
    """How many runs are wanted, and by which filters."""
    unknown = set(query) - names - {"limit"}
    if unknown:
        raise BadInput(
            f"Runs have no {', '.join(sorted(unknown))[:200]}.",
            remedy=f"Filter by {', '.join(sorted(names))}; limit says how many.",
        )
    text = query.get("limit", str(_USUALLY_LISTED))
    if not (text.isascii() and text.isdecimal() and len(text) < 5 and int(text)):
        raise BadInput(f"limit is {text[:20]!r}.", remedy=f"Pass 1 to {_MOST_LISTED}.")
    chosen: dict[str, tuple[str, ...] | str] = {}
    for name in names & set(query):
        values = tuple(value.replace("\0", "") for value in query.getlist(name))
        chosen[name] = values if name in lists else values[0]
    return min(int(text), _MOST_LISTED), chosen


ROUTES = (
    Route("/api/runs", listed, methods=["GET"]),
    Route("/api/runs", push, methods=["POST"]),
    Route("/api/runs/archive", archive, methods=["GET"]),
)
