"""Regressions are told once, by webhook and mail, to configured addresses alone, and retried."""

import json
import logging
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from profiler_core.errors import BadInput
from profiler_core.operate import notices, secret_words
from profiler_core.operate.channels import mail_of, webhook_of
from profiler_core.settings import Settings, settings
from profiler_core.store import history
from profiler_core.store.backup.settings_text import without_secrets
from profiler_core.store.history import regressions
from tests.operate.test_serve_checks import TEAM, Server
from tests.store.history.samples import redated_copy

SECRET = "/services/T0000/s3cret-path"
HOSTILE = (
    "@all <!channel> & [a](http://evil.example) <http://evil.example|resnet>"
    "\r\nBcc: evil@example.org"
)


class Receiver(BaseHTTPRequestHandler):
    """Keeps what it is sent, and answers as its server says."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, dict(self.headers), json.loads(body)))
        self.send_response(self.server.status)
        for name, value in self.server.answer_headers.items():
            self.send_header(name, value)
        self.end_headers()

    def do_GET(self) -> None:
        self.server.received.append((self.path, {}, None))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Post(socketserver.StreamRequestHandler):
    """As much of SMTP as one mail needs."""

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            word = line.split()[0].upper()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = []
                while (text := self.rfile.readline()) != b".\r\n":
                    lines.append(text.decode())
                self.server.received.append("".join(lines))
            if word == b"RCPT":
                self.server.receivers.append(line.decode().strip())
            self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 well\r\n")


@contextmanager
def serving(kind: type, handler: type, **attributes: object) -> Iterator[object]:
    server = kind(("127.0.0.1", 0), handler)
    server.received, server.receivers = [], []
    server.__dict__.update(attributes)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.fixture
def webhook():
    with serving(ThreadingHTTPServer, Receiver, status=200, answer_headers={}) as server:
        yield server


def configure(home, *lines):
    (home / "settings.toml").write_text("\n".join(lines))


def address_of(server, path=SECRET):
    return f"http://127.0.0.1:{server.server_address[1]}{path}"


@pytest.fixture
def regression(home):
    """A run that became slower, of a workload with a hostile name."""
    start = datetime.now(UTC) - timedelta(hours=5)
    for n, slower in enumerate((1.0, 1.5)):
        moment = (start + timedelta(hours=n)).isoformat()
        directory = redated_copy(
            home, f"c{n}", created_at=moment, slower=slower, workload=HOSTILE,
            environment={"torch": f"2.1{n}.0", "git_commit": f"abcdef012345{n}"},
        )  # fmt: skip
        history.record(directory)


def test_a_regression_is_posted_once_with_its_numbers(home, webhook, regression):
    configure(home, f'webhook_url = "{address_of(webhook)}"', 'server_url = "https://fs.example/"')
    assert notices.tell_regressions() == 1
    assert notices.tell_regressions() == 0
    ((path, headers, body),) = webhook.received
    assert path == SECRET
    assert len(headers["Idempotency-Key"]) == 32
    assert "+50 %" in body["text"] and "95 % interval" in body["text"]
    assert "torch: 2.10.0 → 2.11.0" in body["text"] and "Commit abcdef0123." in body["text"]
    assert "<" not in body["text"] and "&lt;!channel&gt; &amp; " in body["text"]
    assert "@all" not in body["text"] and "](" not in body["text"]  # Mattermost, Teams
    assert body["url"].startswith("https://fs.example/?baseline=run%2Fc0")
    assert body["regression"]["run_id"] == "c1.default"
    assert body["regression"]["after_ns"] == pytest.approx(
        1.5 * body["regression"]["before_ns"], rel=1e-3
    )
    (entry,) = history.entries(action="notice")
    assert entry.detail == {
        "channel": "webhook", "state": "sent", "n_tries": 1, "problem": "",
    }  # fmt: skip


def test_it_is_mailed_to_the_configured_addresses_alone(home, regression):
    with serving(socketserver.ThreadingTCPServer, Post) as server:
        configure(
            home, f'mail_server = "localhost:{server.server_address[1]}"',
            'mail_from = "fs@example.org"', 'mail_to = ["a@example.org", "b@example.org"]',
        )  # fmt: skip
        assert notices.tell_regressions() == 1
        assert notices.tell_regressions() == 0
    (mail,) = server.received
    head = mail.partition("\r\n\r\n")[0]
    assert "Subject: Slower:" in head and "To: a@example.org, b@example.org" in head
    assert "\nBcc:" not in head
    assert len(server.receivers) == 2 and "evil" not in "".join(server.receivers)


def many_that_became_slower(home, n, person, start=0):
    moment = (datetime.now(UTC) - timedelta(hours=5)).isoformat()
    for number in range(start, start + n):
        for capture_id, slower in ((f"{person}{number}a", 1.0), (f"{person}{number}b", 1.5)):
            run = redated_copy(
                home, capture_id, created_at=moment, slower=slower, workload=f"{person} {number}"
            )
            history.record(run, person=person)


def test_whoever_makes_many_runs_slower_fills_no_channel(home, webhook, monkeypatch):
    home.mkdir(exist_ok=True)
    configure(home, f'webhook_url = "{address_of(webhook)}"')
    many_that_became_slower(home, 13, "mallory")
    many_that_became_slower(home, 1, "ada")
    assert notices.tell_regressions() == 14
    bodies = [body for _, _, body in webhook.received]
    of_mallory = [b for b in bodies if b["regression"]["workload"].startswith("mallory")]
    assert [body["n_more"] for body in of_mallory] == [0] * 9 + [3]
    assert "And 3 more runs of the same person became slower." in of_mallory[-1]["text"]
    assert len(bodies) - len(of_mallory) == 1
    many_that_became_slower(home, 3, "mallory", start=20)
    many_that_became_slower(home, 1, "ada", start=20)
    assert notices.tell_regressions() == 1  # ada's; of the others in an hour
    # Of the next second: what was told within this one is still of the last hour.
    later = (datetime.now(UTC) + timedelta(hours=1, seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    monkeypatch.setattr(regressions, "now", lambda: later)
    assert notices.tell_regressions() == 3
    assert notices.tell_regressions() == 0
    assert len(history.entries(action="notice")) == 18


@pytest.mark.parametrize("status", [302, 307])
def test_no_redirect_leads_elsewhere(home, webhook, regression, status):
    with serving(ThreadingHTTPServer, Receiver, status=200, answer_headers={}) as inside:
        webhook.status = status
        webhook.answer_headers = {"Location": address_of(inside, "/admin")}
        configure(home, f'webhook_url = "{address_of(webhook)}"')
        assert notices.tell_regressions() == 0
    assert len(webhook.received) == 1 and inside.received == []


def test_a_failing_webhook_is_tried_again_and_holds_up_no_mail(
    home, webhook, regression, monkeypatch, caplog
):
    webhook.status = 500
    with serving(socketserver.ThreadingTCPServer, Post) as server:
        configure(
            home, f'webhook_url = "{address_of(webhook)}"',
            f'mail_server = "localhost:{server.server_address[1]}"',
            'mail_from = "fs@example.org"', 'mail_to = ["a@example.org"]',
        )  # fmt: skip
        with caplog.at_level(logging.INFO):
            assert notices.tell_regressions() == 1  # the mail
        assert notices.tell_regressions() == 0  # not at once again
        webhook.status = 200
        later = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        monkeypatch.setattr(regressions, "now", lambda: later)
        assert notices.tell_regressions() == 1
    assert len(webhook.received) == 2 and len(server.received) == 1
    keys = {headers["Idempotency-Key"] for _, headers, _ in webhook.received}
    assert len(keys) == 1
    assert "answers 500" in caplog.text and "s3cret" not in caplog.text
    states = {e.detail["channel"]: e.detail["n_tries"] for e in history.entries(action="notice")}
    assert states == {"webhook": 2, "mail": 1}


def test_a_webhook_that_nobody_answers_stops_nothing(home, webhook, regression):
    address = address_of(webhook)
    webhook.server_close()
    configure(home, f'webhook_url = "{address}"')
    assert notices.tell_regressions() == 0
    assert len(history.newest_regressions()) == 1


def test_the_thread_goes_on_after_settings_that_cannot_be_used(home, webhook, regression):
    configure(home, "webhook_url = 3")
    stopped = threading.Event()
    thread = threading.Thread(target=notices.look_after_notices, args=(stopped, 0.02), daemon=True)
    thread.start()
    try:
        stopped.wait(0.1)
        assert thread.is_alive()
        configure(home, f'webhook_url = "{address_of(webhook)}"')
        for _ in range(500):
            if webhook.received:
                break
            stopped.wait(0.02)
    finally:
        stopped.set()
        thread.join(20)
    assert len(webhook.received) == 1


def test_the_thread_goes_on_after_a_fault(monkeypatch, caplog):
    """A run that is deleted for good while it is told of violates a key of the database."""
    stopped, n_asked = threading.Event(), []

    def broken():
        n_asked.append(1)
        if len(n_asked) == 2:
            stopped.set()
        raise LookupError("gone")

    monkeypatch.setattr(notices, "tell_regressions", broken)
    notices.look_after_notices(stopped, 0.001)
    assert len(n_asked) == 2
    assert "it is tried again" in caplog.text


def test_without_an_address_nobody_is_told_and_the_history_is_not_asked(home, monkeypatch):
    home.mkdir(exist_ok=True)
    monkeypatch.setattr(history, "waiting_notices", lambda _: pytest.fail("asked"))
    assert notices.tell_regressions() == 0


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org/x",
        "http://example.org/x",
        "http://169.254.169.254/latest/meta-data",
        "https://user:password@example.org/",
        "https://",
        "https://[",
        "https://host:port/",
        "example.org",
        "https://ex\u00e4mple.org/",
    ],
)
def test_no_such_webhook_is_taken(url):
    with pytest.raises(BadInput, match="no address to send to") as raised:
        webhook_of(Settings(webhook_url=url))
    assert url == "https://" or url not in str(raised.value)


@pytest.mark.parametrize(
    "words",
    [
        {"mail_server": "http://mail.example.org"},
        {"mail_server": "mail.example.org:smtp"},
        {"mail_server": "me:secret@mail.example.org"},
        {"mail_from": "nobody"},
        {"mail_to": ()},
        {"mail_to": ("a@example.org\nBcc: evil@example.org",)},
    ],
)
def test_no_such_mail_is_taken(words):
    usual = {
        "mail_server": "mail.example.org", "mail_from": "a@example.org",
        "mail_to": ("b@example.org",),
    }  # fmt: skip
    assert mail_of(Settings(**usual)).port == 587
    with pytest.raises(BadInput):
        mail_of(Settings(**{**usual, **words}))


def test_secrets_stay_out_of_log_checks_and_backup(home, monkeypatch):
    text = f'webhook_url = "https://hooks.example.org{SECRET}"\nmail_password = "s3cret-mail"\n'
    server = Server(home)
    server.write(text + TEAM)
    secret_words.forget()
    shown = f"https://hooks.example.org{SECRET} and s3cret-mail"
    assert "s3cret" not in secret_words.without_secrets(shown)
    server.write(f'webhook_url = "http://hooks.example.org{SECRET}"\nmail_password = 3\n' + TEAM)
    assert "s3cret" not in server.text() and "webhook_url" in server.text()
    assert "s3cret" not in without_secrets(text + TEAM, with_secrets=False)
    monkeypatch.setenv("FUSIONSCOPE_WEBHOOK_URL", "https://other.example.org/s3cret-other")
    server.write(TEAM)
    secret_words.forget()
    assert settings().webhook_url == "https://other.example.org/s3cret-other"
    assert "s3cret" not in secret_words.without_secrets("https://other.example.org/s3cret-other")
