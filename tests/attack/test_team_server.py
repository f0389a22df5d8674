"""The command line against a really running team's server, by API tokens."""

import json
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from profiler_core.agents import capturing
from profiler_core.agents.experimenting import MEASURING
from profiler_core.agents.tools import TOOLS
from profiler_core.answers.history import BaselinesAnswer
from profiler_core.cli.main import main
from profiler_core.cli.team_server import SERVER, TOKEN, TeamServer
from profiler_core.door import deeds
from profiler_core.door.asker import Asker, asking
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.person import account
from profiler_core.settings import Settings
from profiler_core.store import history
from profiler_core.store.history import api_tokens, database
from tests.attack.api import token_of
from tests.attack.conftest import ISSUER, RUNNER, VIEWER
from tests.attack.servers import Dashboard
from tests.store.history.samples import redated_copy


@pytest.fixture
def client(
    api_server: Dashboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The home of somebody with the server's address in the environment, and no token yet."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "client"))
    monkeypatch.setenv(SERVER, f"http://localhost:{api_server.port}")
    monkeypatch.delenv(TOKEN, raising=False)
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path / "client"
    database.close_all()


@pytest.fixture
def use_token(api_server: Dashboard, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Makes a token on the server, and puts it into the environment."""

    def use(email: str, *scopes: str) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FUSIONSCOPE_HOME", str(api_server.home))
            text = token_of(email, *scopes)
        monkeypatch.setenv(TOKEN, text)
        return text

    return use


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def test_push_list_baseline_gate_and_pull(api_server, client, use_token, tmp_path, capsys):
    use_token(RUNNER, "read", "upload", "gate")
    before = redated_copy(tmp_path / "ci", "pushed1")
    after = redated_copy(tmp_path / "ci", "pushed2", slower=2.0)

    assert main(["runs", "push", str(before), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["run_id"], run["person"]) == ("pushed1.default", account(ISSUER, RUNNER))

    url = f"http://localhost:{api_server.port}"
    assert main(["runs", "list", "--server", url, "--json"]) == 0
    assert "pushed1.default" in {r["run_id"] for r in json.loads(capsys.readouterr().out)["runs"]}

    server = TeamServer.of(None)
    wish = {"name": "nightly", "run_id": "pushed1.default"}
    server.send("PUT", "/api/baselines", BaselinesAnswer, wish)
    assert main(["gate", "nightly", str(after), "--max-step-time", "+3%"]) == 1
    assert "REGRESSION" in capsys.readouterr().out
    junit = tmp_path / "gate.xml"
    words = ["gate", "nightly", "pushed1.default", "--max-step-time", "1s", "--server", url]
    assert main([*words, "--junit", str(junit), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "pass"
    assert 'failures="0"' in junit.read_text()

    packed = tmp_path / "one.zip"
    assert main(["runs", "pull", "pushed2.default", "-o", str(packed)]) == 0
    assert packed.stat().st_size > 100
    assert main(["runs", "pull", "pushed2.default"]) == 0
    assert history.run("pushed2.default").variant


def test_a_whole_capture_is_pushed_at_once(client, use_token, tmp_path, capsys):
    use_token(RUNNER, "upload")
    for variant in ("eager", "default"):
        redated_copy(tmp_path / "ci", "pair", variant=variant)
    assert main(["runs", "push", str(tmp_path / "ci" / "runs" / "pair"), "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert {run["run_id"] for run in runs} == {"pair.eager", "pair.default"}
    assert len({run["key"].rpartition("/")[0] for run in runs}) == 1  # compared as before


def test_a_refusal_is_a_sentence_of_the_server(api_server, client, use_token, tmp_path, capsys):
    run = str(redated_copy(tmp_path / "ci", "never"))
    use_token(VIEWER, "read", "upload")
    assert main(["runs", "push", run]) == 2
    assert "refuses (403): The role viewer does not allow this." in said(capsys)
    text = use_token(RUNNER, "read")
    assert main(["gate", "nightly", run]) == 2
    assert "has no scope upload" in said(capsys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(api_server.home))
        api_tokens.revoke_token(text.split("_")[1], person="")
    assert main(["runs", "pull", "pushed1.default"]) == 2
    refused = said(capsys)
    assert "refuses (401): The API token “CI” was revoked" in refused
    assert text not in refused and "Traceback" not in refused
    assert main(["runs", "list", "--server", "http://localhost:1"]) == 2
    assert "cannot be reached: Connection refused" in said(capsys)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://fusionscope.example.org", "without TLS"),
        ("http://localhost.evil.example", "without TLS"),
        ("https://user:pw@fusionscope.example.org", "holds a user or a password"),
        ("ftp://localhost", "is no address"),
        ("main", "is no address"),
        ("https://", "is no address"),
        ("https://[", "is no address"),
        ("https://host:port", "is no address"),
        ("https://host/?token=x", "is no address"),
    ],
)
def test_no_token_is_sent_to_such_an_address(monkeypatch, url, sentence):
    monkeypatch.setenv(TOKEN, "fsc_secret")
    with pytest.raises(BadInput, match=sentence) as raised:
        TeamServer.of(url)
    assert "fsc_secret" not in str(raised.value) and "user:pw" not in str(raised.value)


@pytest.mark.parametrize("token", ["", "  ", "two words", "line\r\nX-Evil: 1", "fsc_é"])
def test_a_token_that_is_none_is_not_sent(monkeypatch, token):
    monkeypatch.setenv(TOKEN, token)
    with pytest.raises(BadInput, match=TOKEN):
        TeamServer.of("https://fusionscope.example.org")


def test_the_token_is_in_no_text_of_the_client(monkeypatch):
    monkeypatch.setenv(TOKEN, "fsc_secret")
    assert "fsc_secret" not in repr(TeamServer.of("https://fusionscope.example.org"))


@pytest.fixture
def elsewhere() -> "Iterator[_Elsewhere]":
    with _Elsewhere() as server:
        yield server


class _Elsewhere:
    """A server that is none of ours, and what it was sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.status, self.headers, self.body = 200, {"Content-Type": "text/html"}, b"<html>"
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.sent.append(f"{self.path} {self.headers.get('Authorization')}")
                self.send_response(outer.status)
                for name, text in outer.headers.items():
                    self.send_header(name, text)
                self.end_headers()
                self.wfile.write(outer.body)

            def do_POST(self) -> None:  # refuses before it has read the body, as a proxy does
                self.close_connection = True
                self.do_GET()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "_Elsewhere":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_a_redirect_gets_no_token(elsewhere, monkeypatch, capsys):
    monkeypatch.setenv(TOKEN, "fsc_secret")
    elsewhere.status, elsewhere.headers = 302, {"Location": f"{elsewhere.url}/thief"}
    assert main(["runs", "list", "--server", elsewhere.url]) == 2
    assert "leads on to" in said(capsys)
    assert [line.split()[0] for line in elsewhere.sent] == ["/api/runs?limit=50"]


def test_a_proxy_of_the_environment_sees_no_token_without_tls(elsewhere, monkeypatch):
    monkeypatch.setenv(TOKEN, "fsc_secret")
    monkeypatch.setenv("http_proxy", elsewhere.url)
    monkeypatch.delenv("no_proxy", raising=False)
    assert main(["runs", "list", "--server", "http://localhost:1"]) == 2
    assert elsewhere.sent == []


@pytest.mark.parametrize("status", [200, 401, 403, 404, 413, 500])
def test_an_answer_that_is_not_ours_is_a_sentence(elsewhere, monkeypatch, capsys, status):
    monkeypatch.setenv(TOKEN, "fsc_secret")
    elsewhere.status, elsewhere.body = status, b"\x1b[31m<html>"
    assert main(["runs", "list", "--server", elsewhere.url]) == 2
    text = said(capsys)
    assert "Traceback" not in text and "\x1b" not in text and len(text.splitlines()) == 2
    if status == 413:
        assert "larger than what the server or its proxy takes" in text


def test_a_file_that_is_refused_before_it_is_sent_is_a_sentence(
    elsewhere, monkeypatch, capsys, tmp_path
):
    monkeypatch.setenv(TOKEN, "fsc_secret")
    elsewhere.status = 413
    large = tmp_path / "large.zip"
    large.write_bytes(b"x" * 5_000_000)
    assert main(["runs", "push", str(large), "--server", elsewhere.url]) == 2
    text = said(capsys)
    assert "refuses (413)" in text or "cannot be reached" in text  # as the system lets us read it


def test_a_server_without_tls_behind_https_is_a_sentence(elsewhere, monkeypatch, capsys):
    monkeypatch.setenv(TOKEN, "fsc_secret")
    assert main(["runs", "list", "--server", elsewhere.url.replace("http:", "https:")]) == 2
    assert "speaks no TLS" in said(capsys)


def test_words_of_a_server_move_no_terminal(elsewhere, monkeypatch, capsys):
    monkeypatch.setenv(TOKEN, "fsc_secret")
    elsewhere.status = 422
    elsewhere.body = json.dumps({"problem": "\x1b]0;evil\x07" * 500, "remedy": "a\nb"}).encode()
    assert main(["runs", "list", "--server", elsewhere.url]) == 2
    text = said(capsys)
    assert "\x1b" not in text and "\x07" not in text and len(text) < 1500


def test_nobody_listens_on_the_port_of_a_slow_name(monkeypatch, capsys):
    monkeypatch.setenv(TOKEN, "fsc_secret")
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda *_, **__: (_ for _ in ()).throw(socket.gaierror(-2, "no name")),
    )
    assert main(["runs", "list", "--server", "https://nowhere.example"]) == 2
    assert "cannot be reached: no name" in said(capsys)


def test_a_run_that_lies_here_is_judged_here(client, tmp_path, capsys):
    run = redated_copy(tmp_path / "ci", "local")
    assert main(["gate", str(run), str(run), "--max-step-time", "1s"]) == 0  # no token is asked for
    assert main(["gate", str(run), str(run), "--server", "https://x.example"]) == 2
    assert "would be the name of a baseline" in said(capsys)
    shutil.rmtree(run)


# --- agents ---


def asked_over_http(api_server: Dashboard, token: str, *calls: tuple[str, dict[str, object]]):
    """(names of tools, (is error, text) of each call) by the SDK's own client."""

    async def talk():
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=120) as http_client:
            url = f"http://localhost:{api_server.port}/api/mcp"
            async with Client(streamable_http_client(url, http_client=http_client)) as client:
                tools = await client.list_tools()
                answers = [await client.call_tool(name, arguments) for name, arguments in calls]
        return {tool.name for tool in tools.tools}, [
            (bool(answer.is_error), answer.content[0].text) for answer in answers
        ]

    return anyio.run(talk)


def test_agents_ask_by_a_token_and_see_the_library_alone(api_server, client, use_token):
    token = use_token(VIEWER, "read")
    hidden = api_server.home / "settings.toml"
    names, answers = asked_over_http(
        api_server,
        token,
        ("list_runs", {"contains": "customcnn"}),
        ("kernels", {"run": "sample/customcnn/eager", "limit": 1}),
        ("summary", {"run": str(hidden)}),
        ("summary", {"run": "/no/such/file"}),
        ("ranks", {"run": str(api_server.home)}),
        ("compare", {"baseline": str(api_server.home)}),
        ("kernels", {"run": "upload/../../settings.toml"}),
        ("start_capture", {"workload": "simplecnn"}),
    )
    assert names == {tool.__name__ for tool in TOOLS}
    listed, kernels, *refused = answers
    assert not listed[0] and "sample/customcnn/eager" in listed[1]
    assert not kernels[0] and json.loads(kernels[1])["n"] > 1
    assert all(is_error for is_error, _ in refused)
    there, nowhere = (text.replace(str(hidden), "X") for _, text in refused[:2])
    assert there.replace("/no/such/file", "X") == nowhere.replace("/no/such/file", "X")
    entries = _entries(api_server, action="ask")
    assert {entry.detail["via"] for entry in entries} == {"token CI"}
    assert {entry.person for entry in entries} == {account(ISSUER, VIEWER)}
    assert "kernels" in {entry.subject for entry in entries}


def test_two_agents_at_once_are_two_persons(api_server, client, use_token):
    tokens = {email: use_token(email, "read") for email in (VIEWER, RUNNER)}
    before = len(_entries(api_server, action="ask"))
    wanted = {VIEWER: "sample/bert", RUNNER: "sample/ddp"}

    def ask(email: str) -> None:
        call = ("compare", {"baseline": wanted[email], "candidate": "no such run"})
        asked_over_http(api_server, tokens[email], call, call)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(ask, tokens))
    entries = _entries(api_server, action="ask")[: -before or None]
    by_person = {(entry.person, entry.detail["baseline"]) for entry in entries}
    assert by_person == {(account(ISSUER, email), run) for email, run in wanted.items()}
    assert len(entries) == 4


def test_captures_need_the_scope_the_role_and_the_setting(api_server, client, use_token):
    settings = api_server.home / "settings.toml"
    before = settings.read_text()
    everything = {tool.__name__ for tool in (*TOOLS, *MEASURING)}
    forbidden = ("start_capture", {"workload": "simplecnn", "python": "/bin/sh"})
    stranger = ("capture_progress", {"job": "20260101-000000-00000000"})
    settings.write_text(f"allow_capture = true\n{before}")
    try:
        for email, scopes, offers in (
            (RUNNER, ("read", "capture"), True),
            (RUNNER, ("read",), False),
            (VIEWER, ("read", "capture"), False),
        ):
            names, answers = asked_over_http(
                api_server, use_token(email, *scopes), forbidden, stranger
            )
            assert (names == everything) is offers
            assert all(is_error for is_error, _ in answers)
            assert ("may not be started here" in answers[0][1]) is offers
        settings.write_text(before)
        names, _ = asked_over_http(api_server, use_token(RUNNER, "read", "capture"))
        assert names == everything - {tool.__name__ for tool in MEASURING}
    finally:
        settings.write_text(before)


@pytest.mark.parametrize(
    ("method", "scopes", "headers", "status"),
    [
        ("POST", None, {}, 401),
        ("POST", ("upload", "gate", "capture"), {}, 403),
        ("POST", ("read",), {"Host": "evil.example"}, 403),
        ("POST", ("read",), {"Origin": "https://evil.example"}, 403),
        ("GET", ("read",), {}, 405),
        ("DELETE", ("read",), {}, 405),
    ],
)
def test_nothing_else_gets_to_the_tools(api_server, use_token, method, scopes, headers, status):
    sent = {**headers, "Cookie": "_streamlit_user=x", "Mcp-Session-Id": "1"}
    if scopes is not None:
        sent["Authorization"] = f"Bearer {use_token(RUNNER, *scopes)}"
    assert api_server.ask("/api/mcp", method=method, **sent).status == status


def test_a_token_stops_and_follows_no_capture_of_another(monkeypatch):
    theirs = SimpleNamespace(
        spec=SimpleNamespace(owner="somebody else", kind="capture", title="x"), is_live=True
    )
    monkeypatch.setattr(deeds.jobs, "job", lambda _: theirs)
    monkeypatch.setattr(deeds.jobs, "cancel", lambda _: pytest.fail("it was cancelled"))
    monkeypatch.setattr("profiler_core.door.asker.settings", lambda: Settings(allow_capture=True))
    asker = Asker(account(ISSUER, RUNNER), ("look", "capture"), role="runner", signed_in=True)
    with asking(asker):
        for tool in (capturing.cancel_capture, capturing.capture_progress):
            with pytest.raises(FusionscopeError, match=r"somebody else's|of yours"):
                tool("20260101-000000-00000000")


def _entries(api_server: Dashboard, **which: str) -> tuple[history.AuditEntry, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(api_server.home))
        return history.entries(**which)
