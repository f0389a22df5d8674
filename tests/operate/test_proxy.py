"""The shipped proxies' files: nginx.conf in a real nginx; Caddy's words."""

import http.client
import json
import re
import ssl
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from profiler_core.ui.security_headers import HEADERS, OVER_TLS
from tests.attack.servers import ROOT, free_port
from tests.operate.nginx import CONF, NAME, nginx, wait_for_port

CADDY = (ROOT / "deploy" / "Caddyfile").read_text("utf-8")
IDENTITY_HEADERS = (
    *("Remote-User", "X-Remote-User", "X-User", "X-Forwarded-User", "X-Forwarded-Email"),
    *("X-Auth-Request-User", "X-Auth-Request-Email", "X-Streamlit-User"),
)

# What stands behind the proxy, at two ports as two workers: the application's middleware, a cookie
# as Streamlit sets its own, a refusal that reads no body, and a websocket.
_BEHIND = """
import asyncio, sys, uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from profiler_core.ui.early_answers import EARLY_ANSWERS
from profiler_core.ui.security_headers import SecurityHeaders

async def answer(request):
    seen = {name: value for name, value in request.headers.items()}
    response = JSONResponse({
        "path": request.url.path, "headers": seen, "worker": request.scope["server"][1],
    })
    response.set_cookie("identity", "x" * int(request.query_params.get("n", 1)), httponly=True)
    return response

async def refuse(request):
    return PlainTextResponse("said by the application", status_code=413)

async def socket(websocket):
    await websocket.accept()
    await websocket.send_text("hello")
    await websocket.close()

rest = "/{rest:path}"
app = Starlette(
    routes=[
        WebSocketRoute(rest, socket), Route(rest, answer), Route(rest, refuse, methods=["PUT"]),
    ],
    middleware=[EARLY_ANSWERS, Middleware(SecurityHeaders)],
)

async def serve():
    servers = [
        uvicorn.Server(uvicorn.Config(app, port=int(port), log_level="error", proxy_headers=False))
        for port in sys.argv[1:]
    ]
    await asyncio.gather(*(server.serve() for server in servers))

asyncio.run(serve())
"""


def test_nothing_but_a_redirect_is_served_without_tls():
    plain, secure = re.findall(r"^server \{.*?^\}", CONF, re.MULTILINE | re.DOTALL)
    assert "listen 80;" in plain
    assert f"return 301 https://{NAME}$request_uri;" in plain  # not $host, which anybody names
    assert "proxy_pass" not in plain
    assert "listen 443 ssl;" in secure
    assert "listen 80" not in secure
    assert "ssl_protocols       TLSv1.2 TLSv1.3;" in secure


def test_no_location_forgets_what_the_dashboard_is_told():
    """A header that is set in a location takes away all that are set outside of it."""
    locations = re.findall(r"location [^{]*\{(.*?)\n    \}", CONF, re.DOTALL)
    assert len(locations) == 8
    assert not any(
        "proxy_set_header" in location or "add_header" in location for location in locations
    )


def test_the_proxy_takes_what_the_shipped_settings_take():
    largest = tomllib.loads((ROOT / "deploy" / "settings.toml").read_text())["largest_upload_gb"]
    assert f"client_max_body_size {largest:.0f}g;" in CONF
    assert f"max_size {largest:.0f}GB" in CADDY


def test_why_the_server_is_not_ready_is_not_for_the_world():
    (ready,) = re.findall(r"location /api/ready \{(.*?)\}", CONF, re.DOTALL)
    assert re.findall(r"(?:allow|deny) [^;]*;", ready)[-1] == "deny all;"


@pytest.fixture(scope="module")
def behind(tmp_path_factory) -> Iterator[tuple[int, int]]:
    ports = free_port(), free_port()
    process = subprocess.Popen([sys.executable, "-c", _BEHIND, *map(str, ports)], cwd=ROOT)
    try:
        for port in ports:
            wait_for_port(port)
        yield ports
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module", params=["/", "/fusionscope/"], ids=["root", "sub-path"])
def proxy(request, behind, tmp_path_factory) -> Iterator[tuple[int, int, str]]:
    """(its plain port, its TLS port, the path below which the dashboard is)."""
    with nginx(tmp_path_factory.mktemp("nginx"), behind, request.param) as (plain, secure):
        yield plain, secure, request.param


def _ask(
    port: int, path: str, tls: bool = True, method: str = "GET", body: bytes = b"", **headers: str
) -> tuple[int, Mapping[str, list[str]], str]:
    context = ssl._create_unverified_context() if tls else None
    connection = (
        http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
        if tls
        else http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    )
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, body=body or None, headers={"Host": NAME} | named)
        answer = connection.getresponse()
        received: dict[str, list[str]] = {}
        for name, value in answer.getheaders():
            received.setdefault(name.lower(), []).append(value)
        return answer.status, received, answer.read().decode()
    finally:
        connection.close()


def _seen(port: int, path: str, **headers: str) -> Mapping[str, Any]:
    """What the application behind it sees."""
    status, _, body = _ask(port, path, **headers)
    assert status == 200, body
    return json.loads(body)


def test_port_80_leads_to_tls(proxy):
    plain, _, base = proxy
    status, headers, _ = _ask(plain, f"{base}fusion?baseline=a", tls=False)
    assert status == 301
    assert headers["location"] == [f"https://{NAME}{base}fusion?baseline=a"]
    assert "set-cookie" not in headers


def test_over_tls_each_header_arrives_once(proxy):
    _, secure, base = proxy
    status, headers, body = _ask(secure, f"{base}fusion", tls=True)
    assert (status, json.loads(body)["path"]) == (200, f"{base}fusion")
    for name, value in (HEADERS | OVER_TLS).items():
        assert headers[name.lower()] == [value]
    assert headers["server"] == ["nginx"]  # without its version
    assert all("; Secure" in cookie for cookie in headers["set-cookie"])


def test_large_cookies_of_a_sign_in_are_no_502(proxy):
    _, secure, base = proxy
    assert _ask(secure, f"{base}oauth2callback?n=12000", tls=True)[0] == 200


def test_what_a_browser_says_of_itself_is_not_believed(proxy):
    _, secure, base = proxy
    forged = {
        "X-Forwarded-Proto": "http", "X-Forwarded-For": "6.6.6.6", "X-Forwarded-Host": "evil",
        "X-Forwarded-Port": "666", "X-Forwarded-Prefix": "/evil", "X-Real-IP": "6.6.6.6",
        "X-Request-ID": "forged-id", "Forwarded": "for=6.6.6.6;host=evil", "Proxy": "evil:1",
        **dict.fromkeys(IDENTITY_HEADERS, "admin"),
    }  # fmt: skip
    headers = _seen(secure, f"{base}fusion", **forged)["headers"]
    assert headers["x-forwarded-proto"] == "https"
    assert headers["x-forwarded-for"] == headers["x-real-ip"] == "127.0.0.1"
    assert headers["x-forwarded-host"] == headers["host"] == NAME
    assert re.fullmatch("[0-9a-f]{32}", headers["x-request-id"])
    gone = {"x-forwarded-port", "x-forwarded-prefix", "forwarded", "proxy"}
    assert not (gone | {name.lower() for name in IDENTITY_HEADERS}) & headers.keys()
    assert not {"6.6.6.6", "evil", "admin"} & set(headers.values())


def test_a_name_that_is_not_the_servers_is_not_answered(proxy):
    _, secure, base = proxy
    assert _ask(secure, f"{base}fusion", Host="evil.example.net")[0] == 421
    assert _ask(secure, f"{base}fusion", Host=f"{NAME}:{secure}")[0] == 200
    assert _seen(secure, f"{base}fusion", Host=f"{NAME}:8443")["headers"]["host"] == f"{NAME}:8443"


def test_the_name_in_the_first_line_hides_no_other(proxy):
    """nginx goes by the one in the line; the application must not see the one below it."""
    _, secure, base = proxy
    for given, told in {"evil.example.net": NAME, "evil.example.net:81": f"{NAME}:81"}.items():
        headers = _seen(secure, f"https://{NAME}{base}fusion", Host=given)["headers"]
        assert (headers["host"], headers["x-forwarded-host"]) == (told, told)


def test_a_refusal_of_a_large_upload_arrives(proxy):
    """It was a 502: the application closed the connection with the rest of the body unread."""
    _, secure, base = proxy
    for _ in range(3):
        status, _, body = _ask(secure, f"{base}api/upload/0", method="PUT", body=bytes(5_000_000))
        assert (status, body) == (413, "said by the application")


def test_only_uploads_may_be_large(proxy):
    _, secure, base = proxy
    status, _, body = _ask(secure, f"{base}fusion", method="PUT", body=bytes(2_000_000))
    assert status == 413
    assert "nginx" in body


def test_a_browser_stays_with_its_worker(proxy, behind):
    _, secure, base = proxy
    met = set()
    for _ in range(20):
        _, headers, body = _ask(secure, base)
        (cookie,) = (c for c in headers["set-cookie"] if c.startswith("fusionscope_worker="))
        worker = json.loads(body)["worker"]
        met.add(worker)
        again = _ask(secure, f"{base}fusion", Cookie=cookie.partition(";")[0])
        assert json.loads(again[2])["worker"] == worker
        assert not any(c.startswith("fusionscope_worker=") for c in again[1]["set-cookie"])
        if met == set(behind):
            return
    raise AssertionError(f"all of 20 browsers met {met}")


def test_a_websocket_passes(proxy):
    _, secure, base = proxy
    status, headers, _ = _ask(
        secure, f"{base}_stcore/stream", Connection="Upgrade", Upgrade="websocket",
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", Sec_WebSocket_Version="13",
    )  # fmt: skip
    assert status == 101
    assert headers["upgrade"] == ["websocket"]


def test_metrics_are_not_for_the_world_and_readiness_is_for_this_machine(proxy):
    _, secure, base = proxy
    assert _ask(secure, f"{base}api/metrics")[0] == 404
    assert _ask(secure, f"{base}_stcore/metrics")[0] == 404
    assert _ask(secure, f"{base}api/ready")[0] == 200


def test_sign_ins_of_one_address_are_limited_and_pages_are_not(proxy):
    _, secure, base = proxy
    states = [_ask(secure, f"{base}auth/login")[0] for _ in range(40)]
    assert states[:10] == [200] * 10
    assert 429 in states
    assert _ask(secure, f"{base}fusion")[0] == 200
    assert _ask(secure, f"{base}oauth2callback")[0] == 429


# --- Caddy, which is not installed where this runs: its words and its braces ---

_DIRECTIVES = {"request_body", "respond", "reverse_proxy", "header"}
_INSIDE = {
    "request_body": {"max_size"},
    "reverse_proxy": {"lb_policy", "flush_interval", "header_up", "transport"},
    "transport": {"dial_timeout", "response_header_timeout"},
    "@": {"path", "not", "remote_ip"},
}


def _caddy_lines() -> list[tuple[tuple[str, ...], list[str]]]:
    """(the blocks around it, its words) of each line of the file."""
    lines, around = [], []
    for line in CADDY.splitlines():
        text = re.sub(r"(^|\s)#.*", "", line)
        words = text.split()
        if not words:
            continue
        assert text.startswith("\t" * (len(around) - (words == ["}"]))), line  # as `caddy fmt`
        if words == ["}"]:
            around.pop()
            continue
        lines.append((tuple(around), words))
        if words[-1] == "{":
            around.append("@" if words[0].startswith("@") else words[0])
    assert not around
    return lines


def test_caddys_file_holds_directives_that_there_are():
    matchers = {words[0] for _, words in _caddy_lines() if words[0].startswith("@")}
    for around, words in _caddy_lines():
        if not around:
            assert words == [NAME, "{"]
        elif len(around) == 1:
            assert words[0] in _DIRECTIVES or words[0] in matchers
            assert {word for word in words[1:] if word.startswith("@")} <= matchers
        else:
            assert words[0] in _INSIDE[around[-1]], words


def test_caddy_removes_and_keeps_the_same_as_nginx():
    removed = {
        words[1].removeprefix("-") for _, words in _caddy_lines()
        if words[0] == "header_up" and words[1].startswith("-")
    }  # fmt: skip
    assert removed == set(re.findall(r'proxy_set_header (\S+) "";', CONF))
    hidden = [words[1:] for _, words in _caddy_lines() if words[0] == "respond"]
    assert hidden == [["@ready", "403"], ["/api/metrics", "404"], ["/_stcore/metrics", "404"]]
