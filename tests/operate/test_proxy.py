"""The shipped nginx.conf, in a real nginx where one is installed: TLS only, headers, sub-path."""

import http.client
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping

import pytest

from profiler_core.ui.security_headers import HEADERS, OVER_TLS
from tests.attack.servers import ROOT, free_port

CONF = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
NAME = "fusionscope.example.org"

# What stands behind the proxy: the application's headers and a cookie as Streamlit sets its own.
_BEHIND = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from profiler_core.ui.security_headers import SecurityHeaders

async def answer(request):
    response = PlainTextResponse(f"{request.url.path} {request.headers['host']}")
    response.set_cookie("identity", "x" * int(request.query_params.get("n", 1)), httponly=True)
    return response

app = Starlette(routes=[Route("/{rest:path}", answer)], middleware=[Middleware(SecurityHeaders)])
uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
"""


def test_nothing_but_a_redirect_is_served_without_tls():
    plain, secure = re.findall(r"^server \{.*?^\}", CONF, re.MULTILINE | re.DOTALL)
    assert "listen 80;" in plain
    assert f"return 301 https://{NAME}$request_uri;" in plain  # not $host, which anybody names
    assert "proxy_pass" not in plain
    assert "listen 443 ssl;" in secure
    assert "listen 80" not in secure
    assert "ssl_protocols       TLSv1.2 TLSv1.3;" in secure


def test_it_tells_the_dashboard_that_tls_is_spoken():
    """Without it the dashboard would send neither HSTS nor Secure cookies."""
    locations = re.findall(r"location [^{]*\{(.*?)\n    \}", CONF, re.DOTALL)
    assert len(locations) == 2
    for location in locations:
        assert "proxy_set_header X-Forwarded-Proto $scheme;" in location


def test_why_the_server_is_not_ready_is_not_for_the_world():
    (ready,) = re.findall(r"location = /api/ready \{(.*?)\}", CONF, re.DOTALL)
    assert re.findall(r"(?:allow|deny) [^;]*;", ready)[-1] == "deny all;"


@pytest.fixture(scope="module")
def behind(tmp_path_factory) -> Iterator[int]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", _BEHIND, str(port)], cwd=ROOT)
    try:
        _wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module", params=["/", "/fusionscope/"], ids=["root", "sub-path"])
def proxy(request, behind, tmp_path_factory) -> Iterator[tuple[int, int, str]]:
    """(its plain port, its TLS port, the path below which the dashboard is)."""
    nginx, openssl = shutil.which("nginx", path="/usr/sbin:/usr/bin"), shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip("needs nginx and openssl: apt-get install nginx-light openssl")
    folder = tmp_path_factory.mktemp("nginx")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
         "-keyout", key, "-out", certificate, "-subj", f"/CN={NAME}"],
        check=True, capture_output=True,
    )  # fmt: skip
    plain, secure = free_port(), free_port()
    text = re.sub(r".*listen \[::\].*\n", "", CONF)  # a machine may have no IPv6
    for shipped, here in {
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl;": f"listen 127.0.0.1:{secure} ssl;",
        "/etc/ssl/certs/fusionscope.pem": str(certificate),
        "/etc/ssl/private/fusionscope.key": str(key),
        "127.0.0.1:8501": f"127.0.0.1:{behind}",
        "location / {": f"location {request.param} {{",
    }.items():
        assert shipped in text
        text = text.replace(shipped, here)
    (folder / "site.conf").write_text(text)
    paths = "".join(
        f"{name}_temp_path {folder}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {paths} include {folder}/site.conf; }}\n"
    )
    command = [nginx, "-p", str(folder), "-e", str(folder / "error.log"),
               "-c", str(folder / "nginx.conf")]  # fmt: skip
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert "warn" not in checked.stderr.replace('"user" directive', ""), checked.stderr
    process = subprocess.Popen(command)
    try:
        _wait_for(secure)
        yield plain, secure, request.param
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on {port}")


def _ask(port: int, path: str, tls: bool) -> tuple[int, Mapping[str, list[str]], str]:
    context = ssl._create_unverified_context() if tls else None
    connection = (
        http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
        if tls
        else http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    )
    try:
        connection.request("GET", path, headers={"Host": NAME})
        answer = connection.getresponse()
        headers: dict[str, list[str]] = {}
        for name, value in answer.getheaders():
            headers.setdefault(name.lower(), []).append(value)
        return answer.status, headers, answer.read().decode()
    finally:
        connection.close()


def test_port_80_leads_to_tls(proxy):
    plain, _, base = proxy
    status, headers, _ = _ask(plain, f"{base}fusion?baseline=a", tls=False)
    assert status == 301
    assert headers["location"] == [f"https://{NAME}{base}fusion?baseline=a"]
    assert "set-cookie" not in headers


def test_over_tls_each_header_arrives_once(proxy):
    _, secure, base = proxy
    status, headers, body = _ask(secure, f"{base}fusion", tls=True)
    assert (status, body) == (200, f"{base}fusion {NAME}")
    for name, value in (HEADERS | OVER_TLS).items():
        assert headers[name.lower()] == [value]
    assert headers["server"] == ["nginx"]  # without its version
    assert headers["set-cookie"][0].endswith("; Secure")


def test_large_cookies_of_a_sign_in_are_no_502(proxy):
    _, secure, base = proxy
    assert _ask(secure, f"{base}oauth2callback?n=12000", tls=True)[0] == 200
