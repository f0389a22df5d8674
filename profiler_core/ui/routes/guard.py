"""The check in front of every route that is not a public asset.

`@guarded("timeline")` turns `async def view(request, subject)` into an endpoint that first
checks Origin and Host (state-changing methods), then who asks (where people sign in: by
Streamlit's identity cookie), and then the token, from the header `X-Fusionscope-Token` or, for
plain links, from `?token=`. A token opens nothing without the sign-in that it was made for.
"""

from collections.abc import Awaitable, Callable
from functools import partial, wraps

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from profiler_core.errors import FusionscopeError
from profiler_core.operate import log
from profiler_core.ui.metrics.counted import count_refused
from profiler_core.ui.routes.origin import refusal
from profiler_core.ui.routes.token import BadTokenError, verify
from profiler_core.ui.routes.whole_body import NoLongerAllowed, checked_when_whole
from profiler_core.ui.sign_in.roles import Deed
from profiler_core.ui.sign_in.visitor import Visitor, visitor_of

TOKEN_HEADER = "X-Fusionscope-Token"  # noqa: S105 - the name of a header

Endpoint = Callable[[Request], Awaitable[Response]]
GuardedEndpoint = Callable[[Request, str], Awaitable[Response]]


def guarded(scope: str, deed: Deed = "look") -> Callable[[GuardedEndpoint], Endpoint]:
    """Let only holders of a token for `scope` through; the endpoint gets the token's subject.

    `request.state.person` says who it is, as the history writes it; `visitor` holds the rights.

    Args:
        scope: of the token.
        deed: what the visitor's role must allow.
    """

    def decorate(endpoint: GuardedEndpoint) -> Endpoint:
        @wraps(endpoint)
        async def checked(request: Request) -> Response:
            refused = refusal(request)
            if refused is not None:
                count_refused("origin")
                return problem(403, refused, "Use the page that this server itself serves.")
            who = _visitor(request, deed)
            if isinstance(who, Response):
                return who
            log.tell(person=who.person)
            request.state.person = who.person
            request.state.visitor = who
            token = request.headers.get(TOKEN_HEADER) or request.query_params.get("token", "")
            if not token:
                count_refused("token")
                return problem(401, "The request carries no token.", "Open the page again.")
            try:
                subject = verify(token, scope, holder=who.holder)
            except BadTokenError as error:
                count_refused("token")
                return problem(401, str(error), "Reload the page.")
            try:
                whole = checked_when_whole(request, partial(_why_not, request, deed))
                return await endpoint(whole, subject)
            except NoLongerAllowed as lost:
                return lost.response
            except FusionscopeError as error:
                return problem(422, error.problem, error.remedy)

        return checked

    return decorate


def _visitor(request: Request, deed: Deed) -> Visitor | Response:
    """Who asks, with this right at this moment, or the refusal."""
    try:
        who = visitor_of(request)
    except FusionscopeError as error:  # settings that cannot be read let nobody in
        count_refused("settings")
        return problem(503, error.problem, error.remedy)
    if who is None:
        count_refused("sign_in")
        return problem(401, "Nobody is signed in.", "Sign in on the page first.")
    if not who.may(deed):
        count_refused("role")
        return problem(403, "Your role does not allow this.", "Ask who runs the server.")
    return who


def _why_not(request: Request, deed: Deed) -> Response | None:
    who = _visitor(request, deed)
    return who if isinstance(who, Response) else None


def unauthorized(text: str, remedy: str) -> JSONResponse:
    """To a program whose token is missing or wrong."""
    answer = problem(401, text, remedy)
    answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def problem(status: int, text: str, remedy: str) -> JSONResponse:
    """An error as routes answer it: never a traceback."""
    return JSONResponse({"problem": text, "remedy": remedy}, status_code=status)
