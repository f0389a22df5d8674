"""Our routes beside Streamlit: what they answer, and that nobody gets in without a token."""

import asyncio
import json
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from profiler_core.timeline.cache import index_trace, trace_key
from profiler_core.ui.routes import all_routes
from profiler_core.ui.routes.guard import guarded
from profiler_core.ui.routes.timeline import SCOPE
from profiler_core.ui.routes.token import BadTokenError, sign, verify
from tests.timeline.traces import CUSTOMCNN

TRACE = CUSTOMCNN / "eager" / "trace.json.gz"
WINDOW = {"start_ns": 0, "end_ns": 3_000_000, "width": 500}
HOST = {"host": "localhost:8501"}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> str:
        said = json.loads(self.body)
        assert said["remedy"]
        return said["problem"]


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def token() -> str:
    index_trace(TRACE)
    return sign(SCOPE, trace_key(TRACE))


def ask(
    path: str,
    query: dict[str, object] | None = None,
    headers: dict[str, str] | None = None,
    *,
    method: str = "GET",
    routes: Iterable[Route] | None = None,
) -> Answer:
    """One request straight to the application, without a server."""
    app = Starlette(routes=list(routes if routes is not None else all_routes()))
    sent = {**HOST, **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": urlencode(query or {}).encode(),
        "headers": [(name.lower().encode(), text.encode()) for name, text in sent.items()],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 8501),
    }
    messages: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        messages.append(message)

    asyncio.run(app(scope, receive, send))
    start = messages[0]
    found = {name.decode(): text.decode() for name, text in start["headers"]}
    body = b"".join(message.get("body", b"") for message in messages[1:])
    return Answer(start["status"], found, body)


def view(query: dict[str, object], token: str | None) -> Answer:
    return ask("/api/timeline/view", query, {"X-Fusionscope-Token": token} if token else {})


# --- the token ---


def test_a_token_opens_what_it_was_signed_for():
    assert verify(sign("timeline", "traces/v1-a"), "timeline") == "traces/v1-a"


def test_tokens_of_one_hour_are_equal_so_that_a_rerun_changes_nothing():
    assert sign("timeline", "a", now_s=7200.0) == sign("timeline", "a", now_s=7200.0 + 3599)


def test_a_token_expires_after_twelve_hours_and_not_before():
    token = sign("timeline", "a", now_s=0.0)
    assert verify(token, "timeline", now_s=12 * 3600.0) == "a"
    with pytest.raises(BadTokenError, match="expired"):
        verify(token, "timeline", now_s=13 * 3600.0 + 1)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda t: t[:-2] + ("AA" if not t.endswith("AA") else "BB"),  # another signature
        lambda t: "A" + t[1:],  # another claim
        lambda t: t.split(".")[0],
        lambda t: "",
        lambda t: "é.é",
        lambda t: "a.b.c",
        lambda t: t.split(".")[0] + ".",
    ],
)
def test_a_spoilt_token_opens_nothing(spoil):
    with pytest.raises(BadTokenError):
        verify(spoil(sign("timeline", "a")), "timeline")


def test_a_token_for_one_thing_does_not_open_another():
    with pytest.raises(BadTokenError, match="not for upload"):
        verify(sign("timeline", "a"), "upload")


def test_a_token_of_another_home_opens_nothing(tmp_path, monkeypatch):
    token = sign("timeline", "a")
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(BadTokenError, match="not signed by this server"):
        verify(token, "timeline")


def test_the_key_is_for_its_owner_only(own_home):
    sign("timeline", "a")
    (key,) = own_home.glob("server.key*")
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32


# --- the guard ---


@guarded("thing")
async def change(_request: Request, subject: str) -> Response:
    return PlainTextResponse(subject)


CHANGE = [Route("/change", change, methods=["GET", "POST"])]


def post(headers: dict[str, str], *, method: str = "POST", **query: object) -> Answer:
    return ask("/change", query, headers, method=method, routes=CHANGE)


def test_a_change_needs_a_token_and_our_own_origin():
    mine = {"X-Fusionscope-Token": sign("thing", "7"), "Origin": "http://localhost:8501"}
    assert post(mine).body == b"7"
    assert post({"Origin": mine["Origin"]}).status == 401
    assert post({"X-Fusionscope-Token": mine["X-Fusionscope-Token"]}).status == 403
    assert post({**mine, "Origin": "https://evil.example"}).status == 403
    assert post({**mine, "Origin": "http://localhost:9999"}).status == 403
    assert post({**mine, "Origin": "null"}).status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8501", "", "localhost.evil.example"]
)
def test_a_server_for_this_machine_answers_to_its_own_names_only(monkeypatch, host):
    monkeypatch.setattr(
        "profiler_core.ui.routes.origin.config.get_option",
        lambda name: "localhost" if name == "server.address" else None,
    )
    rebound = {"host": host, "Origin": f"http://{host}", "X-Fusionscope-Token": sign("thing", "7")}
    assert post(rebound).status == 403


def test_reading_needs_a_token_too_but_a_link_may_carry_it():
    assert post({}, method="GET").status == 401
    assert post({}, method="GET", token=sign("thing", "7")).body == b"7"


# --- the routes ---


def test_health_says_what_this_is():
    answer = ask("/api/health")
    assert answer.status == 200
    assert json.loads(answer.body)["product"] == "fusionscope"


def test_a_view_is_a_packet(token):
    answer = view(WINDOW, token)
    assert answer.status == 200
    header = json.loads(answer.body[4 : 4 + int.from_bytes(answer.body[:4], "little")])
    assert (header["start_ns"], header["end_ns"], header["width"]) == (0, 3_000_000, 500)
    assert header["n_events"] > 500
    assert "private" in answer.headers["cache-control"]


@pytest.mark.parametrize("token", [None, "wrong", "a.b"])
def test_a_view_needs_a_token(token):
    assert view(WINDOW, token).status == 401


def test_a_token_for_uploads_shows_no_trace():
    assert view(WINDOW, sign("upload", trace_key(TRACE))).status == 401


@pytest.mark.parametrize("key", ["traces/gone", "../../../../etc", "/etc", "traces/\0", "\0"])
def test_a_trace_that_is_not_in_the_cache_is_said_so(key):
    answer = view(WINDOW, sign(SCOPE, key))
    assert answer.status == 422
    assert "not in the cache" in answer.problem


@pytest.mark.parametrize(
    "wrong",
    [
        {"start_ns": "x"},
        {"width": "1e3"},
        {"end_ns": 0},
        {"end_ns": 2**60},
        {"start_ns": -(2**70)},
        {"lanes": "1,a"},
    ],
)
def test_nonsense_is_refused_in_words(token, wrong):
    answer = view({**WINDOW, **wrong}, token)
    assert answer.status == 400
    assert answer.problem


def test_missing_parameters_are_refused_in_words(token):
    assert view({"start_ns": 0}, token).status == 400


def test_our_assets_are_served_and_nothing_beside_them():
    assert ask("/app/static/icon.png").body.startswith(b"\x89PNG")
    script = ask("/app/static/timeline/main.js")
    assert script.headers["cache-control"] == "no-cache"
    assert "javascript" in script.headers["content-type"]
    assert ask("/app/static/../app.py").status == 404
    assert ask("/app/static/%2e%2e/app.py").status == 404


def test_a_base_path_goes_before_every_route(monkeypatch):
    monkeypatch.setattr("profiler_core.ui.server.config.get_option", lambda _name: "tools/scope/")
    paths = [route.path for route in all_routes()]
    assert all(path.startswith("/tools/scope/") for path in paths)


def test_the_next_event_by_name(token):
    """Both directions, and what cannot be asked."""
    words = {"words": "conv", "at_ns": -1, "way": "after"}
    said = ask("/api/timeline/find", words, {"x-fusionscope-token": token})
    hits = json.loads(said.body)
    assert said.status == 200
    assert "conv" in hits["hit"]["name"].lower()
    assert hits["n"] > 1
    last = ask(
        "/api/timeline/find",
        {**words, "at_ns": 2**52, "way": "before"},
        {"x-fusionscope-token": token},
    )
    assert json.loads(last.body)["n_before"] == hits["n"] - 1
    for wrong in ({"at_ns": "x"}, {"at_ns": 10**20}, {"way": "up"}):
        refused = ask("/api/timeline/find", {**words, **wrong}, {"x-fusionscope-token": token})
        assert refused.status == 400
    assert ask("/api/timeline/find", words).status == 401
