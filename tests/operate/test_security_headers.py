"""Every answer of the server tells the browser what it may load, and who may frame it."""

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket
from streamlit import config

from profiler_core.ui.own_machine.gate import MIDDLEWARE
from profiler_core.ui.security_headers import HEADERS, SecurityHeaders


async def _answer(request: Request) -> PlainTextResponse:
    cookies = " ".join(f"{name}={value}" for name, value in sorted(request.cookies.items()))
    response = PlainTextResponse(cookies, headers={"Referrer-Policy": "no-referrer"})
    response.set_cookie("identity", "signed", httponly=True)
    response.set_cookie("safe", "already", secure=True, path="/part", domain="example.org")
    response.set_cookie("_streamlit_xsrf", "read-by-scripts")
    return response


async def _socket(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text(" ".join(f"{n}={v}" for n, v in sorted(websocket.cookies.items())))
    await websocket.close()


@pytest.fixture(scope="module")
def client() -> TestClient:
    routes = [Route("/", _answer), WebSocketRoute("/socket", _socket)]
    app = Starlette(routes=routes, middleware=[Middleware(SecurityHeaders)])
    return TestClient(app)


@pytest.mark.parametrize("path", ["/", "/nothing-here"])
def test_each_answer_has_them(client, path):
    headers = client.get(path).headers
    assert set(HEADERS) <= {name.title().replace("Csp", "CSP") for name in headers}
    policy = headers["Content-Security-Policy"]
    assert "frame-ancestors 'self'" in policy
    assert "object-src 'none'" in policy
    assert not {"*", "http:", "https:"} & set(policy.replace(";", " ").split())
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_what_an_answer_says_itself_stays(client):
    assert client.get("/").headers["Referrer-Policy"] == "no-referrer"


def test_over_tls_cookies_are_secure_and_the_browser_comes_back_over_tls(client):
    for headers in ({"X-Forwarded-Proto": "https"}, {"X-Forwarded-Proto": "https, http"}):
        answer = client.get("/", headers=headers)
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
        cookies = answer.headers.get_list("set-cookie")
        assert [cookie.lower().count("; secure") for cookie in cookies] == [1, 1, 1]


def test_without_tls_neither_is_said(client):
    answer = client.get("/")
    assert "Strict-Transport-Security" not in answer.headers
    assert "secure" not in answer.headers.get_list("set-cookie")[0].lower()


_FROM_A_SIBLING = "identity=of-a-stranger; other=1"
_OF_THIS_HOST = "__Host-identity=own; _streamlit_xsrf=random"


def test_over_tls_a_server_of_a_sibling_name_can_set_no_cookie(client):
    """Its cookie would sign the visitor in as its own account: browsers keep the prefix from it."""
    cookies = client.get("/", headers={"X-Forwarded-Proto": "https"}).headers.get_list("set-cookie")
    assert [cookie.partition("=")[0] for cookie in cookies] == [
        "__Host-identity", "__Host-safe", "_streamlit_xsrf",
    ]  # fmt: skip
    for cookie in cookies[:2]:
        attributes = [part.strip().lower() for part in cookie.split(";")[1:]]
        assert {"path=/", "secure"} <= set(attributes)
        assert not any(attribute.startswith("domain") for attribute in attributes)
        assert sum(attribute.startswith("path") for attribute in attributes) == 1
    assert "httponly" in cookies[0].lower()
    for cookie, seen in (
        (_FROM_A_SIBLING, ""),
        (f"{_OF_THIS_HOST}; {_FROM_A_SIBLING}", "_streamlit_xsrf=random identity=own"),
    ):
        headers = {"X-Forwarded-Proto": "https", "Cookie": cookie}
        assert client.get("/", headers=headers).text == seen
        with client.websocket_connect("/socket", headers=headers) as socket:
            assert socket.receive_text() == seen
    # A proxy that does not say so of websockets: what this host set goes first.
    headers = {"Cookie": f"{_OF_THIS_HOST}; {_FROM_A_SIBLING}"}
    with client.websocket_connect("/socket", headers=headers) as socket:
        assert socket.receive_text() == "_streamlit_xsrf=random identity=own other=1"


def test_without_tls_or_below_a_path_cookies_keep_their_names(client, monkeypatch):
    """Below a path the prefix would show them to the other services of that name."""
    client.cookies.clear()
    plain = client.get("/", headers={"Cookie": "identity=own"})
    assert plain.headers.get_list("set-cookie")[0].startswith("identity=")
    assert plain.text == "identity=own"
    client.cookies.clear()
    monkeypatch.setattr(config, "get_option", {"server.baseUrlPath": "/tools"}.get)
    below = client.get("/", headers={"X-Forwarded-Proto": "https", "Cookie": "identity=own"})
    assert below.headers.get_list("set-cookie")[0].startswith("identity=")
    assert below.text == "identity=own"


def test_the_application_has_them_in_front_of_all_else():
    assert MIDDLEWARE[0].cls is SecurityHeaders
