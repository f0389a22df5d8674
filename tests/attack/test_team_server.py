"""The command line against a really running team's server, by API tokens."""

import json
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from profiler_core.answers.history import BaselinesAnswer
from profiler_core.cli.main import main
from profiler_core.cli.team_server import SERVER, TOKEN, TeamServer
from profiler_core.errors import BadInput
from profiler_core.person import account
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
