"""The server's log: one JSON object a line or text, who and what it is about, and no secret."""

import json
import logging
import re
from pathlib import Path
from types import MappingProxyType

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from streamlit import logger as streamlit_logger

from profiler_core.errors import BadInput
from profiler_core.operate import log, secret_words
from profiler_core.ui import server_log
from tests.attack.conftest import SECRETS

IN_FILES = "s3cret-in-settings", "s3cret-in-cookie", "s3cret-in-client", "s3cret-in-url"


class Written:
    """What goes to standard error."""

    def __init__(self, capsys) -> None:
        self._capsys, self._text = capsys, ""

    def getvalue(self) -> str:
        self._text += self._capsys.readouterr().err
        return self._text

    @property
    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.getvalue().splitlines()]


@pytest.fixture
def written(monkeypatch, home, tmp_path, capsys):
    """Standard error, while logging is as before afterwards."""
    root = logging.getLogger()
    loggers = [root, *map(logging.getLogger, list(logging.root.manager.loggerDict))]
    before = [(one, list(one.handlers), one.propagate, one.level) for one in loggers]
    monkeypatch.setattr(streamlit_logger, "setup_formatter", streamlit_logger.setup_formatter)
    monkeypatch.setattr(log, "_sources", [])
    monkeypatch.setattr(secret_words, "_values", ())
    home.mkdir(exist_ok=True)
    (home / "settings.toml").write_text(
        f'metrics_token = "{IN_FILES[0]}"\ndatabase_url = "postgresql://fs:{IN_FILES[3]}@db/fs"\n'
    )
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(
        f'[auth]\ncookie_secret = "{IN_FILES[1]}"\n[auth.x]\nclient_secret = "{IN_FILES[2]}"\n'
    )
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    secret_words.watch(secrets)
    yield Written(capsys)
    logging.captureWarnings(False)
    for one, handlers, propagate, level in before:
        one.handlers[:], one.propagate = handlers, propagate
        one.setLevel(level)
    secret_words.watch(secret_words.SECRETS)


def test_secrets_of_each_file_that_streamlit_reads_are_hidden(written, tmp_path, monkeypatch):
    first, last = tmp_path / "first.toml", tmp_path / "last.toml"
    first.write_text('[auth]\ncookie_secret = "of-the-first-file-0123456789"\n')
    last.write_text('[auth]\nclient_secret = "of-the-last-file-0123456789"\n')
    files = [str(first), str(last)]
    monkeypatch.setattr(server_log.config, "get_option", lambda _name: files)
    server_log.configure()
    line = "of-the-first-file-0123456789 of-the-last-file-0123456789"
    logging.getLogger("profiler_core.x").error(line)
    assert "0123456789" not in written.getvalue()


def test_a_line_is_one_object_with_its_moment(written):
    log.configure_server("json")
    with log.about(request="r-1", person="oidc:https://x#1"):
        logging.getLogger("profiler_core.x").info(
            "two\nlines of %s", "words", extra={"run": "upload/1/compile"}
        )
    (line,) = written.lines
    moment = line.pop("time")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(moment))
    assert line.pop("pid") > 0
    assert line == {
        "level": "info",
        "logger": "profiler_core.x",
        "event": "two\nlines of words",
        "person": "oidc:https://x#1",
        "request": "r-1",
        "run": "upload/1/compile",
    }


def test_what_ends_with_the_block_is_said_no_more(written):
    log.configure_server("json")
    with log.about(request="r-1"):
        log.tell(person="ada")
        logging.warning("inside")
    logging.warning("outside")
    inside, outside = written.lines
    assert (inside["request"], inside["person"]) == ("r-1", "ada")
    assert not {"request", "person"} & outside.keys()


def test_our_errors_are_a_problem_and_a_remedy(written):
    log.configure_server("json")
    try:
        raise BadInput("/data/x.json is empty.", remedy="Capture it again.")
    except BadInput:
        logging.getLogger("x").exception("page failed")
    (line,) = written.lines
    assert (line["problem"], line["remedy"]) == ("/data/x.json is empty.", "Capture it again.")
    assert line["error"] == "BadInput"
    assert "Traceback" in line["traceback"]


def test_text_says_the_same_in_words(written):
    log.configure_server("text")
    logging.getLogger("profiler_core.x").info("Page x.", extra={"problem": "No.", "remedy": "Do."})
    assert written.getvalue().endswith(" INFO profiler_core.x: Page x. No. Do.\n")


FORGED = (
    "run/x\n2026-11-23 18:00:00,000 INFO profiler_core.ui: Ada signed in.\r\x1b[31m\x9b2J\u202e"
)


def test_no_name_begins_a_line_of_the_log_or_steers_a_terminal(written):
    """A link that a viewer opens names a run that there is not, and the log says so."""
    for log_format in ("text", "json"):
        log.configure_server(log_format)
        try:
            raise ValueError(FORGED)
        except ValueError:
            logging.getLogger("profiler_core.x").exception(
                "There is no %s", FORGED, extra={"problem": FORGED, "remedy": FORGED}
            )
    text = written.getvalue()
    assert "Ada signed in" in text
    assert not re.search(r"^2026-11-23 18:00:00,000", text, re.MULTILINE)
    assert not set(text) & set("\r\x1b\x9b\u202e")
    at_the_margin = [line for line in text.splitlines() if not line.startswith("  ")]
    assert len(at_the_margin) == 2  # a record of each format
    assert json.loads(at_the_margin[-1])["problem"].startswith("run/x\n")


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_no_planted_secret_reaches_the_log(written, log_format):
    log.configure_server(log_format)
    ours = logging.getLogger("profiler_core.x")
    planted = [*SECRETS.values(), *IN_FILES]
    for value in planted:
        ours.error("met %s", value)
        with log.about(run=value):
            ours.error("about", extra={"problem": value, "remedy": f"x {value} y"})
        try:
            raise ValueError(f"could not use {value!r}")
        except ValueError:
            ours.exception("failed with %s", {"key": value})
    for line in (
        "GET /api/upload/1?name=a&token=s3cret-token&x=1 403",
        "https://bucket/x?X-Amz-Signature=s3cret-signature",
        "http://localhost:8501/?enter=s3cret-link",
        "Authorization: Bearer s3cret-bearer",
        "Cookie: _streamlit_user=s3cret-cookie; a=s3cret",
        "postgresql://u:s3cret-other@elsewhere/db",
        "eyJhbGciOiJIUzI1NiJ9.eyJzM2NyZXQiOjF9.s3cret-jwt",
        f"no run fsc_0123456789ab_{'5ec0de' * 10}5ec0",
        f"GET /x/fsc%5F0123456789ab%5f{'5ec0de' * 10}5ec0 and fsc%255F0123456789ab_5ec0de",
    ):
        ours.error(line)
        logging.getLogger("uvicorn.error").error("%s", line)
    text = written.getvalue()
    assert text.count("\n") >= 3 * len(planted)
    assert "s3cret" not in text
    assert "5ec0" not in text
    for word in (
        "fsc_0123456789ab_***",
        "GET /x/fsc%5F0123456789ab%5f*** and fsc%255F0123456789ab_***",
        "met ***",
        "bucket/x?X-Amz-Signature=***",
        "/?enter=***",
        "://***@elsewhere/db",
    ):
        assert word in text


def test_a_secret_that_changes_is_hidden_before_and_after(written, home):
    log.configure_server("text")
    logging.warning("one %s", IN_FILES[0])
    (home / "settings.toml").write_text('metrics_token = "s3cret-two"\n')
    secret_words.forget()
    logging.warning("two %s %s", IN_FILES[0], "s3cret-two")
    assert "s3cret" not in written.getvalue()


def test_streamlits_own_loggers_write_our_lines_too(written, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_LOG", "json")
    before = streamlit_logger.get_logger("streamlit.made.before")
    server_log.configure()
    after = streamlit_logger.get_logger("streamlit.made.after")
    try:
        before.warning("one")
        after.warning("two")
    finally:
        for name in ("streamlit.made.before", "streamlit.made.after"):
            streamlit_logger._loggers.pop(name, None)
    assert [line["event"] for line in written.lines] == ["one", "two"]


def test_requests_of_visitors_are_not_kept(written):
    """Not by the web server either, whatever levels it sets itself."""
    access = logging.getLogger("uvicorn.access")
    access.setLevel(logging.INFO)
    log.configure_server("text")
    access.info("203.0.113.7 GET /")
    access.warning("bad")
    assert "203.0.113.7" not in written.getvalue()
    assert "bad" in written.getvalue()


def test_settings_that_cannot_be_used_are_told_as_text(written, home):
    (home / "settings.toml").write_text("allow_capture = perhaps")
    server_log.configure()
    (line,) = written.getvalue().splitlines()
    assert "The server's log stays text" in line
    assert "settings.toml cannot be used" in line


@pytest.mark.parametrize(
    ("given", "is_taken"),
    [("0123456789abcdef", True), ("short", False), ("x" * 65, False), ('a"b,\\nc=d', False)],
)
def test_a_request_has_an_id_in_the_log_and_in_its_answer(written, given, is_taken):
    async def answer(_request) -> PlainTextResponse:
        logging.getLogger("profiler_core.x").info("asked")
        return PlainTextResponse("hello")

    log.configure_server("json")
    app = Starlette(routes=[Route("/", answer)], middleware=[Middleware(server_log.RequestIds)])
    answered = TestClient(app).get("/", headers={"X-Request-ID": given}).headers["X-Request-ID"]
    assert (answered == given) is is_taken
    (line,) = [line for line in written.lines if line["logger"] == "profiler_core.x"]
    assert line["request"] == answered


def test_a_script_run_says_whose_it_is_and_which_runs_it_shows(written, monkeypatch):
    class Context:
        session_id = "whoever-knows-it-goes-on-with-the-session"
        query_string = "baseline=sample%2Fa&candidate=sample%2Fb&token=x"
        user_info = MappingProxyType(
            {"iss": "https://x", "sub": "1", "name": "Ada", "email": "ada@example.org"}
        )

    monkeypatch.setattr(server_log, "get_script_run_ctx", lambda **_: Context())
    monkeypatch.setenv("FUSIONSCOPE_LOG", "json")
    server_log.configure()
    logging.getLogger("profiler_core.x").info("drawn")
    (line,) = written.lines
    assert (line["person"], line["run"]) == ("oidc:https://x#1", "sample/a, sample/b")
    assert re.fullmatch("[0-9a-f]{12}", str(line["session"]))
    assert "ada" not in written.getvalue().lower()


def test_only_one_module_configures_logging():
    root = Path(log.__file__).parents[1]
    calls = re.compile(r"basicConfig|dictConfig|logging\.StreamHandler|setFormatter")
    modules = [
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if calls.search(path.read_text("utf-8")) and "record" not in path.parts
    ]  # the Recorder is in the process of a user's script
    assert modules == ["operate/log.py"]
