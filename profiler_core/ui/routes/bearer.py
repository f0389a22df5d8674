"""The check in front of the routes for CI and agents: an API token, and nothing in its place.

`@by_token("read", "look")` lets through who sends `Authorization: Bearer fsc_…` with that scope and
whose person may do that now. Cookies count for nothing here, so no other page can use a browser's.
A token in the address is refused, because addresses stand in logs.
"""

import json
import logging
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

import anyio
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message

from profiler_core.answers.encoding import document
from profiler_core.answers.record import Answer
from profiler_core.errors import (
    BadInput,
    CaptureFailed,
    FusionscopeError,
    ServerFault,
    WorkEnded,
)
from profiler_core.jobs.queue import QueueFull
from profiler_core.operate import log
from profiler_core.store.shown_paths import texts_in, without_server_paths
from profiler_core.ui.metrics.counted import count_refused
from profiler_core.ui.routes.guard import Endpoint, problem, unauthorized
from profiler_core.ui.routes.origin import foreign
from profiler_core.ui.routes.refused_tokens import RefusedTokens
from profiler_core.ui.routes.whole_body import NoLongerAllowed, checked_when_whole
from profiler_core.ui.sign_in.needed import is_needed
from profiler_core.ui.sign_in.roles import Deed
from profiler_core.ui.sign_in.visitor import Visitor

_log = logging.getLogger(__name__)

_LONGEST_HEADER = 200  # of Authorization; a token has 81 characters
_IN_ADDRESS = ("token", "access_token", "api_key")
_MOST_ENCODINGS = 8  # one on top of the other, that are taken off an address
_MOST_JSON_BYTES = 64_000
# CaptureFailed: a job that does not start. Who was only killed has a sentence for who sent it.
_OF_SERVER = (ServerFault, CaptureFailed)
_REASONS = {403: "role", 503: "settings"}  # as metrics name them

_refused = RefusedTokens()


class Admitted(NamedTuple):
    """Who asks by a token, how the audit calls the token, and who it is later on."""

    visitor: Visitor
    via: str
    again: "Callable[[], Admitted | Response]"  # the same question at another moment


def by_token(
    scope: str, deed: Deed
) -> Callable[[Callable[[Request, Visitor], Awaitable[Response]]], Endpoint]:
    """Let only holders of an API token through; the endpoint gets the token's person.

    Args:
        scope: that the token must have.
        deed: that the person's role must allow.
    """

    def decorate(endpoint: Callable[[Request, Visitor], Awaitable[Response]]) -> Endpoint:
        @wraps(endpoint)
        async def checked(request: Request) -> Response:
            admitted = await admission(request, scope, deed)
            if isinstance(admitted, Response):
                return admitted
            from profiler_core.store.history.audit import acting_via
            from profiler_core.store.history.database import HistoryUnavailable

            def refusal() -> Response | None:
                still = admitted.again()
                return _counted(still) if isinstance(still, Response) else None

            request.state.refusal = refusal
            with acting_via(admitted.via):
                try:
                    whole = checked_when_whole(request, refusal)
                    return await endpoint(whole, admitted.visitor)
                except NoLongerAllowed as lost:
                    return lost.response
                except HistoryUnavailable as error:
                    return _unavailable(error)
                except FusionscopeError as error:
                    if isinstance(error, _OF_SERVER) and not isinstance(error, WorkEnded):
                        return _unavailable(error, "The server cannot do it now.")
                    status = 503 if isinstance(error, QueueFull | WorkEnded) else 422
                    sent = (*request.query_params.values(), *getattr(request.state, "texts", ()))
                    text = without_server_paths(error.problem, sent)
                    return problem(status, text, without_server_paths(error.remedy, sent))
                except OSError as error:
                    text = f"The server cannot do it: {error.strerror}."
                    return problem(507, text, "Ask whoever runs it to look at its disk.")

        return checked

    return decorate


def check_still_allowed(request: Request) -> None:
    """Ask again after a wait; may wait for the database.

    Raises:
        NoLongerAllowed: the token, or its person's right, ended since the request came.
    """
    refused = request.state.refusal()
    if refused is not None:
        raise NoLongerAllowed(refused)


async def admission(connection: HTTPConnection, scope: str, deed: Deed) -> Admitted | Response:
    """Who asks by a token with this scope and this right, or the refusal."""
    misled = foreign(connection, needs_origin=False)
    if misled is not None:
        count_refused("origin")
        return problem(403, misled, "Send the request to the name of this server itself.")
    text = _sent_token(connection)
    client = connection.client.host if connection.client else ""
    admitted: Admitted | Response = (
        text
        if isinstance(text, Response)
        else await anyio.to_thread.run_sync(_admitted, text, client, scope, deed)
    )
    if isinstance(admitted, Response):
        return _counted(admitted)
    log.tell(person=admitted.visitor.person)
    return admitted


def _counted(refused: Response) -> Response:
    count_refused(_REASONS.get(refused.status_code, "token"))
    return refused


def _sent_token(connection: HTTPConnection) -> str | Response:
    if _holds_token(connection):
        return problem(
            400,
            "The address holds a token, so it stands in logs now.",
            "Revoke that token, and send another as the header Authorization: Bearer.",
        )
    headers = connection.headers.getlist("authorization")
    scheme, _, text = headers[0].partition(" ") if len(headers) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or len(text) > _LONGEST_HEADER:
        return unauthorized(
            "The request carries no API token.", "Send it as the header Authorization: Bearer."
        )
    return text.strip(" ")


def _holds_token(connection: HTTPConnection) -> bool:
    """Does the address hold what may be a token, percent-encoded however often?"""
    query = connection.scope["query_string"].decode("latin-1")
    for _ in range(_MOST_ENCODINGS):
        plain = unquote_plus(query, "latin-1")
        if plain == query:
            break
        query = plain
    return "fsc_" in query or any(name in connection.query_params for name in _IN_ADDRESS)


def _admitted(text: str, client: str, scope: str, deed: Deed) -> Admitted | Response:
    from profiler_core.store import history  # late: it brings the database along
    from profiler_core.store.history import api_tokens
    from profiler_core.ui.sign_in.by_token import visitor_by_token

    def note_refusal(token: api_tokens.ApiToken, why: str) -> None:
        if _refused.is_news(token.token_id, why):
            history.note_or_keep(
                token.person, "refuse token", token.subject,
                name=token.name, needs=scope, why=why, client=client,
            )  # fmt: skip

    try:
        if not is_needed():
            return problem(
                403,
                "API tokens are for servers where people sign in.",
                "Use the command line on this machine.",
            )
        try:
            token = api_tokens.checked_token(text)
        except api_tokens.BadToken as error:
            if _refused.are_too_many(client):
                wait = problem(429, "Too many tokens were refused.", "Wait a minute.")
                wait.headers["Retry-After"] = "60"
                return wait
            if error.token is not None:
                note_refusal(error.token, error.problem)
            return unauthorized(error.problem, error.remedy)
        who = visitor_by_token(token)
        remedy = "Ask who runs the server."
        if who is None or who.role is None:
            why = "The token's person has no role here."
        elif scope not in token.scopes:
            why = f"The API token “{token.name}” has no scope {scope}."
            remedy = "Make one that has it on the page API tokens."
        elif not who.may(deed):
            why = f"The role {who.role} does not allow this."
        else:
            api_tokens.note_use(token)
            again = partial(_admitted, text, client, scope, deed)
            return Admitted(who, f"token {token.name}", again)
        note_refusal(token, why)
        return problem(403, why, remedy)
    except (FusionscopeError, OSError) as error:  # nobody is let in; a stranger learns no more
        return _unavailable(error, "The server cannot check tokens now.")


def _unavailable(
    error: Exception, text: str = "The server's history cannot be used now."
) -> JSONResponse:
    """What is wrong stands in the log: a program elsewhere learns neither hosts nor folders."""
    _log.warning("A request by API token cannot be answered: %s", error)
    return problem(503, text, "Try again, or ask who runs the server.")


def answered(answer: Answer) -> Response:
    """A record as the command line's `--json` prints it."""
    return answered_json(json.dumps(document(answer)))


def answered_json(text: str, **headers: str) -> Response:
    """The same, where it is JSON already."""
    return Response(
        without_server_paths(text),
        media_type="application/json",
        headers={"Cache-Control": "private, no-store", **headers},
    )


async def json_object(request: Request) -> dict[str, Any]:
    """What the request's body says.

    Raises:
        BadInput: it is no JSON object, or a long one.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_JSON_BYTES:
            raise BadInput("The request is too long.", remedy="Send at most 64 kB of JSON.")

    async def whole() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    try:
        value = await Request(request.scope, whole).json()
        json.dumps(value, ensure_ascii=False).encode()  # half a character is no text anywhere
    except (ValueError, RecursionError):
        value = None
    request.state.texts = tuple(texts_in(value))
    if not isinstance(value, dict):
        raise BadInput("The request holds no JSON object.", remedy="See docs/deploy.md.")
    return value
