"""POST /api/gate for CI, by API token: the answer of `gate --json`, with runs of the history.

{"baseline": a baseline's name or a run's id, "candidate": a run's id, "limits": {"step_time":
"+3%"}, "same": [ids]}. The header X-Fusionscope-Exit-Status holds the command's exit status.
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from profiler_core.door import deeds
from profiler_core.door.turns import Turns
from profiler_core.errors import BadInput
from profiler_core.ui.routes.bearer import (
    answered_json,
    by_token,
    check_still_allowed,
    json_object,
)
from profiler_core.ui.sign_in.asker import asker_of
from profiler_core.ui.sign_in.visitor import Visitor

_JUDGING = Turns(2, 1, "judges runs")  # each a process; others wait
_MOST_REPEATS = 20


@by_token("gate", "look")
async def judge(request: Request, who: Visitor) -> Response:
    """Hold a candidate against its limits."""
    baseline, candidate, limits, same = _question(await json_object(request))

    def judged() -> Response:
        from profiler_core.store.judging import Judged  # late: it brings the database along

        check_still_allowed(request)  # its turn may come much later
        answer = deeds.start_judging(asker_of(who), baseline, candidate, limits, same).result(
            Judged,
            ended="The runs could not be judged: the process was ended.",
            remedy="Ask again; a large trace needs free memory.",
        )
        check_still_allowed(request)  # it took minutes, perhaps
        status = {"X-Fusionscope-Exit-Status": str(answer.exit_status)}
        return answered_json(answer.json, **status)

    return await _JUDGING.run(who.person, judged)


def _question(wish: dict[str, Any]) -> tuple[str, str, dict[str, str], tuple[str, ...]]:
    baseline, candidate = wish.get("baseline"), wish.get("candidate")
    limits, same = wish.get("limits", {}), wish.get("same", [])
    if (
        set(wish) - {"baseline", "candidate", "limits", "same"}
        or not (isinstance(baseline, str) and isinstance(candidate, str))
        or not (isinstance(limits, dict) and _are_texts(limits.values()))
        or not (isinstance(same, list) and len(same) <= _MOST_REPEATS and _are_texts(same))
    ):
        raise BadInput(
            "That cannot be judged.",
            remedy='Send {"baseline": NAME, "candidate": RUN_ID, "limits": {"step_time": "+3%"}}.',
        )
    return baseline, candidate, limits, tuple(same)


def _are_texts(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


ROUTES = (Route("/api/gate", judge, methods=["POST"]),)
