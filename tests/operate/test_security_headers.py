"""Every answer of the server tells the browser what it may load, and who may frame it."""

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from profiler_core.ui.own_machine.gate import MIDDLEWARE
from profiler_core.ui.security_headers import HEADERS, SecurityHeaders


async def _answer(_request: object) -> PlainTextResponse:
    response = PlainTextResponse("hello", headers={"Referrer-Policy": "no-referrer"})
    response.set_cookie("identity", "signed", httponly=True)
    response.set_cookie("safe", "already", secure=True)
    return response


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = Starlette(routes=[Route("/", _answer)], middleware=[Middleware(SecurityHeaders)])
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
        assert [cookie.lower().count("; secure") for cookie in cookies] == [1, 1]


def test_without_tls_neither_is_said(client):
    answer = client.get("/")
    assert "Strict-Transport-Security" not in answer.headers
    assert "secure" not in answer.headers.get_list("set-cookie")[0].lower()


def test_the_application_has_them_in_front_of_all_else():
    assert MIDDLEWARE[0].cls is SecurityHeaders
