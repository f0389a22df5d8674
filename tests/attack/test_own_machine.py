"""Another user of the machine at the port of a dashboard on which nobody signs in."""

import os
import re
import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from profiler_core.store import browser_links
from profiler_core.ui.own_machine.cookie import cookie_name, new_cookie
from profiler_core.ui.routes import all_routes
from profiler_core.ui.routes.token import sign
from tests.attack.servers import ROOT, STREAMLIT, Dashboard, dashboard, started
from tests.quick_python import variables

CAPTURES = ROOT / "tests" / "fixtures" / "captures"
SECRET_NAME = "project-nightingale"
END_TIMEOUT_S = 240.0
SENTENCE = "This dashboard belongs to another user or another browser."
PAGES = [f"/{path.stem}" for path in sorted((ROOT / "pages").glob("*.py"))]
# Answer anybody: see below; metrics want a token of their own, and without one there are none.
HEALTH = ("/api/health", "/api/ready", "/api/metrics")
OURS = [r.path.replace("{place}", "0") for r in all_routes() if r.path not in HEALTH]
STREAMLITS = [
    "/_stcore/host-config",
    "/_stcore/upload_file/a/b",
    "/_stcore/metrics",
    "/_stcore/script-health-check",
    "/_stcore/stream",
    "/media/0123456789abcdef.txt",
    "/component/x/index.html",
    "/static/index.html",
    "/app/static/timeline/main.js",
    "/auth/login",
    "/oauth2callback",
    "/favicon.png",
    "/manifest.json",
]


@pytest.fixture(scope="module")
def quick(quick_python: Path) -> dict[str, str]:
    """With these variables a dashboard is forked; what is no module starts as users start it."""
    return variables(quick_python)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick: dict[str, str]) -> Iterator[Dashboard]:
    home = tmp_path_factory.mktemp("home")
    for variant in ("eager", "reduce-overhead"):
        folder = home / "runs" / SECRET_NAME / variant
        shutil.copytree(CAPTURES / f"customcnn_b1.{variant}", folder)
    with dashboard(tmp_path_factory.mktemp("server"), home, **quick) as running:
        yield running


@pytest.fixture
def owner(server: Dashboard, monkeypatch: pytest.MonkeyPatch) -> str:
    """The owner's browser: its cookie header."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(server.home))
    return f"{cookie_name()}={new_cookie()}"


def path_of(link: str) -> str:
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


def cookie_of(set_cookie: str) -> str:
    return set_cookie.partition(";")[0]


# --- without the cookie ---


@pytest.mark.parametrize("path", ["/", *PAGES, *OURS, *STREAMLITS])
def test_without_the_cookie_nothing_answers(server: Dashboard, path: str) -> None:
    for method in ("GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE"):
        answer = server.ask(path, method=method)
        assert answer.status == 403, (method, answer)
        assert method == "HEAD" or SENTENCE in answer.body
        assert SECRET_NAME not in answer.body


def test_a_person_sees_one_page_that_says_what_to_do(server: Dashboard) -> None:
    answer = server.ask("/fusion?baseline=a", accept="text/html,*/*")
    assert answer.status == 403
    assert SENTENCE in answer.body
    assert "<code>fusionscope open</code>" in answer.body
    assert "<script" not in answer.body
    assert answer.headers["cache-control"] == "no-store"


def test_health_says_which_server_this_is_and_nothing_else(server: Dashboard) -> None:
    assert server.ask("/_stcore/health").body == "ok"
    assert set(server.ask("/api/health").body.split('"')[1::4]) == {"product", "instance"}
    assert server.ask("/api/health", method="POST").status == 403
    assert server.ask("/api/health/").status == 403
    assert (server.ask("/api/metrics").status, server.ask("/api/metrics").body) == (
        404,
        "Not Found",
    )


def test_the_websocket_is_refused(server: Dashboard) -> None:
    with pytest.raises(InvalidStatus) as refusal:
        connect(f"ws://localhost:{server.port}/_stcore/stream", origin=_origin(server.port))
    assert refusal.value.response.status_code == 403


# --- a link ---


def test_the_link_of_the_terminal_lets_in_one_browser_once(server: Dashboard) -> None:
    first = server.ask(path_of(server.link))
    assert first.status == 303
    assert first.headers["location"] == "/"
    assert first.headers["referrer-policy"] == "no-referrer"
    assert first.headers["cache-control"] == "no-store"
    attributes = first.headers["set-cookie"].lower().split("; ")
    assert {"httponly", "samesite=lax", "path=/"} <= set(attributes)
    cookie = cookie_of(first.headers["set-cookie"])
    assert server.ask("/", cookie=cookie).status == 200
    assert "<title>" in server.ask("/fusion?baseline=x", cookie=cookie).body

    second = server.ask(path_of(server.link), accept="text/html")
    assert second.status == 403
    assert "set-cookie" not in second.headers
    assert "was used or is too old" in second.body


def test_of_many_at_once_one_gets_in(server: Dashboard, owner: str) -> None:
    path = browser_links.link("/", browser_links.new_token())
    with ThreadPoolExecutor(12) as pool:
        statuses = [answer.status for answer in pool.map(server.ask, [path] * 12)]
    assert sorted(statuses) == [303] + [403] * 11


@pytest.mark.parametrize(
    "spoil",
    [
        lambda token: token[:-1] + ("A" if token[-1] != "A" else "B"),
        lambda token: token.partition(".")[0],
        lambda token: token.partition(".")[0] + ".",
        lambda token: "../server." + token,
        lambda token: "../../../etc/passwd",
        lambda token: "é.é",
        lambda token: "",
    ],
)
def test_a_spoilt_token_lets_nobody_in_and_spends_nothing(
    server: Dashboard, owner: str, spoil
) -> None:
    token = browser_links.new_token()
    answer = server.ask(browser_links.link("/", spoil(token)))
    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    assert server.ask(browser_links.link("/", token)).status == 303


@pytest.mark.parametrize("method", ["HEAD", "POST", "OPTIONS"])
def test_only_a_browser_that_opens_it_spends_a_link(
    server: Dashboard, owner: str, method: str
) -> None:
    path = browser_links.link("/", browser_links.new_token())
    assert server.ask(path, method=method).status == 403
    assert server.ask(path).status == 303


def test_a_link_leads_to_the_page_that_was_wanted(server: Dashboard, owner: str) -> None:
    wanted = "/fusion?baseline=run%2Fa&candidate=b&candidate=c"
    token = browser_links.new_token()
    assert server.ask(browser_links.link(wanted, token)).headers["location"] == wanted
    # A browser that is in already, with a link that was used: it goes there all the same.
    again = server.ask(browser_links.link(wanted, token), cookie=owner)
    assert (again.status, again.headers["location"]) == (303, wanted)


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example/", "///evil.example"])
def test_a_link_leads_to_no_other_server(server: Dashboard, owner: str, path: str) -> None:
    answer = server.ask(browser_links.link(path, browser_links.new_token()))
    assert re.match(r"/[^/\\]", answer.headers["location"])


# --- the cookie ---


def test_a_cookie_of_another_home_opens_nothing(
    server: Dashboard, owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = cookie_name()
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    assert cookie_name() != name
    assert server.ask("/", cookie=f"{name}={new_cookie()}").status == 403
    assert server.ask("/", cookie=f"{cookie_name()}={new_cookie()}").status == 403


def test_no_other_signature_of_this_server_is_a_cookie(server: Dashboard, owner: str) -> None:
    assert server.ask("/", cookie=owner).status == 200
    value = owner.partition("=")[2]
    old = sign("browser", "a", now_s=0.0)
    for forged in (sign("timeline", "a"), old, value[:-2], "A" + value[1:], "", "."):
        assert server.ask("/", cookie=f"{cookie_name()}={forged}").status == 403


def test_the_websocket_wants_the_cookie_and_our_own_page(server: Dashboard, owner: str) -> None:
    """Browsers send a cookie of localhost to each of its ports, and from each of them."""
    address = f"ws://localhost:{server.port}/_stcore/stream"
    with connect(
        address, origin=_origin(server.port), additional_headers={"Cookie": owner}
    ) as socket:
        assert socket.response.status_code == 101
    for origin in (_origin(1), "https://evil.example", None):
        with pytest.raises(InvalidStatus) as refusal:
            connect(address, origin=origin, additional_headers={"Cookie": owner})
        assert refusal.value.response.status_code == 403


def test_a_change_from_another_port_is_refused(server: Dashboard, owner: str) -> None:
    path = "/_stcore/upload_file/a/b"
    answer = server.ask(path, method="DELETE", cookie=owner, origin="http://localhost:1")
    assert answer.status == 403
    assert "another page" in answer.body


def test_a_cookie_outlives_the_server_and_holds_below_a_base_path(
    server: Dashboard, owner: str, tmp_path: Path, quick: dict[str, str]
) -> None:
    command = (*STREAMLIT, "--server.baseUrlPath=tools/scope")
    shutil.copy(server.home / "server.key", tmp_path)
    with dashboard(tmp_path / "again", tmp_path, command, "/tools/scope", **quick) as again:
        assert again.ask("/tools/scope/", cookie=owner).status == 200
        assert again.ask("/tools/scope/").status == 403
        entered = again.ask(path_of(again.link))
        assert entered.headers["location"] == "/tools/scope/"
        assert "path=/tools/scope/" in entered.headers["set-cookie"].lower()


# --- the cookie in the hands of another user's program, which got it at another port ---


def sent_as(uid: int, port: int, cookie: str, *, closes: bool = False) -> bytes:
    """A request from a socket of that user; `closes`: it ends before the answer can come."""
    real = os.geteuid()
    os.seteuid(uid)
    try:
        thief = socket.socket()
    finally:
        os.seteuid(real)
    with thief:
        thief.connect(("127.0.0.1", port))
        request = f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\n"
        thief.sendall(f"{request}Connection: close\r\n\r\n".encode())
        return b"" if closes else b"".join(iter(lambda: thief.recv(65536), b""))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can open a socket as another user")
def test_a_stolen_cookie_opens_nothing_to_another_users_program(
    server: Dashboard, owner: str
) -> None:
    answer = sent_as(65534, server.port, owner)
    assert answer.startswith(b"HTTP/1.1 403")
    assert b"by a program of another user" in answer
    assert b"title" not in answer
    assert sent_as(os.getuid(), server.port, owner).startswith(b"HTTP/1.1 200")


def test_a_request_that_says_it_was_passed_on_is_nobodys(server: Dashboard, owner: str) -> None:
    """uvicorn believes X-Forwarded-For of this machine, and anybody here can send one."""
    for forwarded in ("127.0.0.1", "127.0.0.1:80", "::1", "203.0.113.9", "unknown"):
        answer = server.ask("/", cookie=owner, x_forwarded_for=forwarded)
        assert answer.status == 403, forwarded


# --- what lies on the disk and in logs ---


def test_every_secret_is_for_its_owner_only(server: Dashboard, owner: str) -> None:
    browser_links.new_token()
    secrets = [server.home / "server.key", server.home / "server.json"]
    links = server.home / "links"
    assert links.stat().st_mode & 0o777 == 0o700
    for file in (*secrets, *links.iterdir()):
        assert file.stat().st_mode & 0o777 == 0o600, file


def test_a_used_token_stands_in_no_log_of_any_way_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """uvicorn by itself writes the address of each request."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    command = ("-m", "uvicorn", "app:app", "--log-level=trace")
    with dashboard(tmp_path / "uvicorn", tmp_path, command, cwd=ROOT) as other:
        token = browser_links.new_token()
        assert other.ask(browser_links.link("/kernels?q=gemm", token)).status == 303
        assert other.ask(browser_links.link("/kernels?q=gemm", token)).status == 403
        text = other.log.read_text()
    assert "Fusionscope runs at" in text
    assert "gemm" not in text  # what was searched for is nobody's business either
    assert token not in text
    assert token.partition(".")[2] not in text


# --- an address that others reach ---

PUBLIC = [
    ([*STREAMLIT, "--server.address=0.0.0.0"], {}),
    ([*STREAMLIT, "--server.address=::"], {}),
    ([*STREAMLIT, "--server.address="], {}),  # every address, to Streamlit
    (STREAMLIT, {"STREAMLIT_SERVER_ADDRESS": "0.0.0.0"}),
    ([str(ROOT / "app.py"), "--server.headless=true"], {"STREAMLIT_SERVER_ADDRESS": "::"}),
]


@pytest.mark.parametrize(("command", "environment"), PUBLIC)
def test_a_public_address_without_sign_in_refuses_to_start(
    tmp_path: Path, command: list[str], environment: dict[str, str], quick: dict[str, str]
) -> None:
    command = [*command, "--server.port=0"]
    process, log = started(command, tmp_path, tmp_path, **environment, **quick)
    assert process.wait(END_TIMEOUT_S) == 1
    (line,) = log.read_text().strip().splitlines()
    assert line.startswith("Fusionscope does not start on ")
    assert "--server.address=localhost" in line
    assert "[team]" in line


def test_a_public_address_with_unreadable_settings_refuses_to_start(
    tmp_path: Path, quick: dict[str, str]
) -> None:
    (tmp_path / "settings.toml").write_text("[team")
    command = [*STREAMLIT, "--server.address=0.0.0.0", "--server.port=0"]
    process, log = started(command, tmp_path, tmp_path, **quick)
    assert process.wait(END_TIMEOUT_S) == 1
    *_, line = lines = log.read_text().strip().splitlines()
    assert "settings.toml cannot be used" in line
    assert not any("Traceback" in line for line in lines)


def test_a_public_address_with_sign_in_starts_and_the_sign_in_decides(
    tmp_path: Path, quick: dict[str, str]
) -> None:
    (tmp_path / "settings.toml").write_text('[team]\nadmins = ["ada@example.org"]\n')
    command = (*STREAMLIT, "--server.address=0.0.0.0")
    with dashboard(tmp_path / "team", tmp_path, command, **quick) as team:
        assert "enter=" not in team.link
        assert team.ask("/").status == 200
        assert team.ask("/api/runs/export").status == 401
        # The table goes away while the server runs: nobody is let in, and nothing is said.
        (tmp_path / "settings.toml").write_text("")
        assert team.ask("/").status == 403
        # Nobody knows any more who may come in.
        (tmp_path / "settings.toml").write_text("[team")
        assert team.ask("/").status == 503


def _origin(port: int) -> str:
    return f"http://localhost:{port}"
