"""API tokens: nobody gets in by another's, an old, a small or a smuggled one."""

import io
import json
import re
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from sqlalchemy import select
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from profiler_core.agents import answering, capturing
from profiler_core.answers.record import Answer
from profiler_core.door.asker import Refused
from profiler_core.errors import BadInput
from profiler_core.jobs import directory as files
from profiler_core.person import account
from profiler_core.session.pair import Pair
from profiler_core.store import history, judging
from profiler_core.store.history import api_tokens, database, receiving, recording
from profiler_core.store.history.database import HistoryUnavailable
from profiler_core.store.history.receiving import receive
from profiler_core.store.history.tables import api_tokens as table
from profiler_core.ui.api_tokens.list import may_revoke
from profiler_core.ui.routes import OF_PROGRAMS, api_runs, bearer, gate
from profiler_core.ui.routes.refused_tokens import RefusedTokens
from profiler_core.ui.sign_in.by_token import SCOPES, scopes_for
from profiler_core.ui.sign_in.visitor import visitor
from profiler_core.worker.worker import Worker
from tests.apps import checked, opened, text_of
from tests.attack.api import call, person_of, token_of, zip_of, zipped
from tests.attack.conftest import ISSUER, RUNNER, TEAM, VIEWER, Server
from tests.store.history.samples import redated_copy

pytestmark = pytest.mark.usefixtures("quick_modules")  # what records a pushed run

ADMIN = "root@example.org"
SETTINGS = f'{TEAM}admins = ["{ADMIN}"]\n'
# What each route asks for, as (method, path) -> (scope, body): one for every route of programs.
ASKED = {
    ("GET", "/api/runs"): "read",
    ("GET", "/api/runs/archive"): "read",
    ("POST", "/api/runs"): "upload",
    ("GET", "/api/baselines"): "gate",
    ("PUT", "/api/baselines"): "gate",
    ("POST", "/api/gate"): "gate",
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one recorded run, to be copied."""
    folder = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(folder))
        history.record(redated_copy(folder, "c1"))
        database.close_all()
    return folder


@pytest.fixture
def team(
    recorded: Path, server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Server]:
    """A team's server with one recorded run, visited by nobody."""
    shutil.copytree(recorded, home, dirs_exist_ok=True)
    monkeypatch.setattr(bearer, "_refused", RefusedTokens())
    server.is_at("127.0.0.1", SETTINGS)
    yield server
    database.close_all()


def uses(**which: str) -> list[tuple[str, str, object]]:
    """(action, subject, by what means) of the audit, the newest first."""
    return [(e.action, e.subject, e.detail.get("via")) for e in history.entries(**which)]


# --- the secret ---


def test_the_secret_lies_nowhere_and_has_a_form_that_scanners_know(team: Server) -> None:
    text = token_of(RUNNER, "read")
    assert re.fullmatch(r"fsc_[0-9a-f]{12}_[0-9a-f]{64}", text)
    secret = text.rpartition("_")[2]
    with database.reading() as connection:
        row = connection.execute(select(table)).one()
    assert secret not in repr(row)
    database.close_all()
    files = [path for path in team.home.rglob("*") if path.is_file()]
    assert files and not any(secret.encode() in path.read_bytes() for path in files)


def test_two_tokens_have_nothing_in_common(team: Server) -> None:
    texts = {token_of(RUNNER, "read") for _ in range(5)}
    assert len({text.split("_")[1] for text in texts} | {t.split("_")[2] for t in texts}) == 10


def test_the_secret_is_compared_in_constant_time_also_where_there_is_no_token(
    team: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[str, str]] = []
    real = api_tokens.hmac.compare_digest
    monkeypatch.setattr(
        api_tokens.hmac, "compare_digest", lambda *both: compared.append(both) or real(*both)
    )
    good = token_of(RUNNER, "read")
    for text in (good, f"fsc_{'0' * 12}_{'0' * 64}", "fsc_x", ""):
        call("GET", "/api/runs", text)
    assert len(compared) == 4
    assert {len(side) for both in compared for side in both} == {64}


# --- who gets in ---


def test_every_route_of_programs_is_asked_below() -> None:
    routes = {(m, r.path) for r in OF_PROGRAMS for m in r.methods - {"HEAD"}}  # type: ignore[operator]
    assert all(isinstance(route, Route) for route in OF_PROGRAMS)
    assert routes == ASKED.keys()


@pytest.mark.parametrize(("method", "path"), ASKED)
@pytest.mark.parametrize("token", [None, "", "fsc_", f"fsc_{'0' * 12}_{'0' * 64}", "x" * 5000])
def test_without_a_good_token_there_is_nothing(
    team: Server, method: str, path: str, token: str | None
) -> None:
    answer = call(method, path, token)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "c1" not in answer.body.decode()


@pytest.mark.parametrize(("method", "path"), ASKED)
def test_a_scope_that_is_too_small_opens_nothing(team: Server, method: str, path: str) -> None:
    others = [scope for scope in SCOPES if scope != ASKED[method, path]]
    answer = call(method, path, token_of(RUNNER, *others))
    assert (answer.status, "has no scope" in answer.problem) == (403, True)
    (entry,) = history.entries(action="refuse token")
    assert entry.person == account(ISSUER, RUNNER)
    assert entry.detail["needs"] == ASKED[method, path]


@pytest.mark.parametrize(("method", "path"), ASKED)
def test_the_cookie_of_a_browser_takes_no_tokens_place(
    team: Server, method: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.is_at("127.0.0.1", SETTINGS, RUNNER)
    monkeypatch.setattr("profiler_core.ui.routes.guard.visitor_of", lambda _: visitor())
    cookie = [("cookie", "_streamlit_user=anything"), ("origin", "http://localhost:8501")]
    assert call(method, path, headers=cookie).status == 401


def test_a_revoked_token_opens_nothing_from_that_moment(team: Server) -> None:
    text = token_of(RUNNER, "read")
    assert call("GET", "/api/runs", text).status == 200
    api_tokens.revoke_token(text.split("_")[1], person=account(ISSUER, ADMIN))
    answer = call("GET", "/api/runs", text)
    assert answer.status == 401
    assert "was revoked" in answer.problem
    revoked, *_ = history.entries(action="revoke token")
    assert (revoked.person, revoked.detail["of"]) == (
        account(ISSUER, ADMIN), account(ISSUER, RUNNER),
    )  # fmt: skip


@pytest.mark.parametrize(("method", "path"), [asked for asked in ASKED if asked[0] != "GET"])
@pytest.mark.parametrize("by", ["revoking", "settings"])
def test_what_comes_after_the_right_has_ended_is_refused(
    team: Server, home: Path, method: str, path: str, by: str
) -> None:
    """A body may come piece by piece for hours: a stolen token was of use after its end."""

    def end_it() -> None:
        if by == "revoking":
            api_tokens.revoke_token(text.split("_")[1], person=account(ISSUER, ADMIN))
        else:
            team.is_at("127.0.0.1", '[team]\nviewers = ["*@elsewhere.org"]\n')

    text = token_of(RUNNER, ASKED[method, path])
    pushed = zipped(redated_copy(home.parent / "elsewhere", "c2"))
    wish = {"name": "main", "run_id": "c1.default"}
    answer = call(method, path, text, pushed if path == "/api/runs" else wish, before_body=end_it)
    assert answer.status == (401 if by == "revoking" else 403), answer.body
    assert not history.baselines() and [run.capture_id for run in history.runs()] == ["c1"]
    assert not [path for path in home.glob("uploads/**/*") if path.is_file()]


def test_an_agents_call_that_waited_has_the_rights_of_the_moment_when_it_is_done(
    team: Server, home: Path
) -> None:
    """Its body may come late, and a capture waits behind others of its person."""
    (home / "settings.toml").write_text(f"allow_capture = true\n{SETTINGS}")

    async def told(request: Request) -> PlainTextResponse:
        await request.body()
        try:
            who = await anyio.to_thread.run_sync(capturing.agent)
        except Refused as error:
            return PlainTextResponse(f"refused: {error.problem}")
        return PlainTextResponse("capture" if "capture" in who.deeds else "look")

    def protocol(**_: bool) -> Starlette:
        return Starlette(routes=[Route("/mcp", told, methods=["POST"])])

    def end_it() -> None:
        api_tokens.revoke_token(text.split("_")[1], person=account(ISSUER, ADMIN))

    def only_look() -> None:
        team.is_at("127.0.0.1", '[team]\nviewers = ["*@example.org"]\n')

    text = token_of(RUNNER, "read", "capture")
    said = [
        call("POST", "/api/mcp", text, {}, agents=protocol, before_body=before).body.decode()
        for before in (lambda: None, only_look, end_it)
    ]
    assert said[:2] == ["capture", "look"] and "any more" in said[2]


def test_a_refusal_that_cannot_be_recorded_is_a_sentence(
    team: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(*_: object, **__: object) -> None:
        raise history.NotRecorded("Nothing can be recorded.", remedy="Ask who runs the server.")

    text = token_of(RUNNER, "read")
    api_tokens.revoke_token(text.split("_")[1], person=account(ISSUER, ADMIN))
    monkeypatch.setattr(history, "note_or_keep", nowhere)
    answer = call("GET", "/api/runs", text)
    assert answer.status == 503
    assert "cannot check tokens" in answer.problem


def test_what_waits_its_turn_is_asked_for_anew(
    team: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question to the gate waits for others, which may take minutes each."""
    turn = gate._JUDGING.run

    async def late(person: str, judge: Callable[[], Response]) -> Response:
        api_tokens.revoke_token(text.split("_")[1], person=account(ISSUER, ADMIN))
        return await turn(person, judge)

    monkeypatch.setattr(gate._JUDGING, "run", late)
    text = token_of(RUNNER, "gate")
    answer = call("POST", "/api/gate", text, {"baseline": "c1.eager", "candidate": "c1.default"})
    assert (answer.status, "was revoked" in answer.problem) == (401, True)
    assert not history.entries(action="gate")


@pytest.mark.parametrize("by", ["revoking", "settings"])
def test_the_gate_tells_nothing_to_whose_right_ends_while_it_judges(
    team: Server, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    judge = gate.deeds.start_judging

    def ended_meanwhile(*asked: Any) -> Worker:
        worker = judge(*asked)
        if by == "revoking":
            api_tokens.revoke_token(text.split("_")[1], person=account(ISSUER, ADMIN))
        else:
            team.is_at("127.0.0.1", '[team]\nviewers = ["*@elsewhere.org"]\n')
        return worker

    monkeypatch.setattr(gate.deeds, "start_judging", ended_meanwhile)
    text = token_of(RUNNER, "gate")
    answer = call("POST", "/api/gate", text, {"baseline": "c1.default", "candidate": "c1.default"})
    assert answer.status == (401 if by == "revoking" else 403), answer.body
    assert "step_time" not in answer.body.decode()


def test_a_push_tells_nothing_to_whose_right_ends_while_it_is_read(
    team: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = api_runs.deeds.start_recording_push

    def ended_meanwhile(*asked: Any) -> str:
        job_id = start(*asked)
        api_tokens.revoke_token(text.split("_")[1], person=account(ISSUER, ADMIN))
        return job_id

    monkeypatch.setattr(api_runs.deeds, "start_recording_push", ended_meanwhile)
    text = token_of(RUNNER, "upload")
    answer = call("POST", "/api/runs", text, zipped(redated_copy(home.parent / "elsewhere", "c2")))
    assert (answer.status, "was revoked" in answer.problem) == (401, True)


@pytest.mark.parametrize(
    ("status", "last_word", "told"),
    [
        (files.JobStatus(state="failed", error="It was killed 3 times."), b"", (503, "killed 3")),
        (files.JobStatus(state="interrupted", error="Its process is gone."), b"", (503, "gone")),
        (
            files.JobStatus(state="failed", error="mine.zip is no archive."),
            b'{"event": "failure", "problem": "mine.zip is no archive.", "remedy": "x"}\n',
            (422, "no archive"),
        ),
        (
            files.JobStatus(state="failed", error="postgresql://db is away."),
            b'{"event":"failure","problem":"db is away.","remedy":"x","is_servers":true}\n',
            (503, "cannot do it now"),
        ),
    ],
)
def test_a_push_is_at_fault_only_where_its_file_is(
    team: Server, home: Path, monkeypatch: pytest.MonkeyPatch,
    status: files.JobStatus, last_word: bytes, told: tuple[int, str],
) -> None:  # fmt: skip
    """What was killed for want of memory was answered as if another file would do."""
    job_id = "20260101-000000-000001"
    directory = home / "jobs" / job_id
    directory.mkdir(parents=True)
    spec = files.JobSpec(
        job_id=job_id, command=("true",), title="t", device="", submitted_at=0.0, kind="ingest"
    )
    files.write(directory, spec)
    files.write(directory, status)
    (directory / files.ANSWER).write_bytes(last_word)
    monkeypatch.setattr(api_runs.deeds, "start_recording_push", lambda *_: job_id)
    text = token_of(RUNNER, "upload")
    answer = call("POST", "/api/runs", text, b"some bytes")
    assert (answer.status, told[1] in answer.problem) == (told[0], True), answer.body
    assert "postgresql" not in answer.body.decode()


@pytest.mark.parametrize("which", ["baseline", "candidate", "same"])
def test_the_gate_tells_nothing_of_a_run_that_is_deleted_while_it_judges(
    team: Server, home: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    for capture_id in ("c4", "c5"):
        history.record(redated_copy(home, capture_id))
    asked = {"baseline": "c1.default", "candidate": "c4.default", "same": "c5.default"}
    deleted = asked[which]
    pair = judging.Comparison.check

    def deleted_meanwhile(comparison: judging.Comparison) -> judging.Comparison:
        history.delete_run(deleted)
        return pair(comparison)

    monkeypatch.setattr(judging.Comparison, "check", deleted_meanwhile)
    monkeypatch.setattr(judging, "required_measurement", lambda run: None)
    monkeypatch.setattr(judging, "gate_answer", lambda *_: Answer())
    monkeypatch.setattr(Pair, "gate", lambda *_: SimpleNamespace(exit_status=0))
    with pytest.raises(BadInput, match=f"{deleted}"):
        judging.judged(
            judging.Question(asked["baseline"], asked["candidate"], {}, (asked["same"],))
        )


@pytest.mark.parametrize(
    ("tool", "named"),
    [
        ("summary", {"run": "run/c4/default"}),
        ("summary", {"run": "history/c4.default"}),
        ("compare", {"baseline": "run/c1/default", "candidate": "run/c4/default"}),
        ("compare", {"baseline": "run/c4/default", "candidate": ["run/c1/default"]}),
        ("compare", {"baseline": "run/c4"}),
    ],
)
def test_an_agent_is_told_nothing_of_a_run_that_is_deleted_while_it_is_read(
    team: Server, home: Path, monkeypatch: pytest.MonkeyPatch, tool: str, named: dict[str, Any]
) -> None:
    for variant in ("eager", "default"):
        history.record(redated_copy(home, "c4", variant=variant, whole=tool == "summary"))
    question = json.dumps({"tool": tool, "arguments": named}).encode()

    def asked() -> str:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(question)))
        return answering._answer(lambda *_: None)

    assert "default" in asked()
    written = answering.written

    def deleted_meanwhile(answer: Answer) -> str:
        history.delete_run("c4.default")
        return written(answer)

    monkeypatch.setattr(answering, "written", deleted_meanwhile)
    with pytest.raises(BadInput, match=r"c4.default|c4/default"):
        asked()


def test_an_expired_token_opens_nothing(team: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    text = token_of(RUNNER, "read", days=7)
    (made,) = api_tokens.tokens()
    monkeypatch.setattr(api_tokens, "now", lambda: made.expires_at)
    answer = call("GET", "/api/runs", text)
    assert (answer.status, "expired on" in answer.problem) == (401, True)


def test_who_guesses_the_secret_of_a_known_token_learns_nothing(team: Server) -> None:
    text = token_of(RUNNER, "read")
    known_id = call("GET", "/api/runs", f"{text[:-1]}{'0' if text[-1] != '0' else '1'}")
    unknown = call("GET", "/api/runs", f"fsc_{'0' * 12}_{'0' * 64}")
    assert known_id.body == unknown.body
    assert not history.entries(action="refuse token")


def test_a_role_that_is_taken_away_takes_the_tokens_rights_at_once(team: Server) -> None:
    text = token_of(RUNNER, "read", "upload", "gate")
    body = {"name": "main", "run_id": "c1.default"}
    assert call("PUT", "/api/baselines", text, body).status == 200
    team.is_at("127.0.0.1", '[team]\nviewers = ["*@example.org"]\n')  # now a viewer
    assert call("GET", "/api/runs", text).status == 200
    for method, path in (("POST", "/api/runs"), ("PUT", "/api/baselines")):
        answer = call(method, path, text, body)
        assert (answer.status, answer.problem) == (403, "The role viewer does not allow this.")
    team.is_at("127.0.0.1", '[team]\nviewers = ["*@elsewhere.org"]\n')  # now nobody
    answer = call("GET", "/api/runs", text)
    assert (answer.status, "no role" in answer.problem) == (403, True)


def test_a_group_that_was_left_counts_until_the_next_sign_in_only(team: Server) -> None:
    text = token_of("gina@elsewhere.org", "read", groups=("performance",))
    team.is_at("127.0.0.1", '[team]\nrunners = ["group:performance"]\n')
    assert call("GET", "/api/runs", text).status == 200
    person_of("gina@elsewhere.org", groups=())
    assert call("GET", "/api/runs", text).status == 403


def test_an_unverified_address_gives_a_token_no_role(team: Server) -> None:
    assert call("GET", "/api/runs", token_of(RUNNER, "read", address="")).status == 403


def test_a_server_without_sign_in_takes_no_tokens(team: Server) -> None:
    text = token_of(RUNNER, "read")
    team.is_at("127.0.0.1", "")
    assert call("GET", "/api/runs", text).status == 403


def test_scopes_are_offered_by_role_and_settings(team: Server) -> None:
    for who, text, offered in (
        (VIEWER, SETTINGS, ("read", "gate")),
        (RUNNER, SETTINGS, ("read", "upload", "gate")),
        (RUNNER, f"allow_capture = true\n{SETTINGS}", tuple(SCOPES)),
        ("eve@elsewhere.org", SETTINGS, ()),
    ):
        team.is_at("127.0.0.1", text, who)
        visits = visitor()
        assert visits is not None
        assert scopes_for(visits) == offered


def test_only_the_owner_and_an_admin_may_revoke(team: Server) -> None:
    token_of(RUNNER, "read")
    (token,) = api_tokens.tokens()
    for who, may in ((RUNNER, True), (ADMIN, True), (VIEWER, False), ("eve@x.org", False)):
        team.is_at("127.0.0.1", SETTINGS, who)
        assert may_revoke(visitor(), token) is may
    assert not may_revoke(None, token)


# --- how it is sent ---


@pytest.mark.parametrize(
    "written",
    [
        lambda text: text.replace("_", "%5F"),
        lambda text: text.replace("_", "%5f"),
        lambda text: text.replace("_", "%255F"),
        lambda text: text.replace("_", "%25255F"),
        lambda text: "".join(f"%{ord(letter):02x}" for letter in text),
    ],
)
@pytest.mark.parametrize("address", ["workload={}", "{}", "{}=1"])
def test_a_token_in_the_address_is_refused_however_it_is_encoded(
    team: Server, address: str, written: Callable[[str], str]
) -> None:
    text = token_of(RUNNER, "read")
    answer = call("GET", "/api/runs", text, raw_query=address.format(written(text)))
    assert (answer.status, "address holds a token" in answer.problem) == (400, True)


@pytest.mark.parametrize("name", ["token", "access_token", "api_key", "q"])
def test_a_token_in_the_address_is_refused_even_if_it_is_good(team: Server, name: str) -> None:
    text = token_of(RUNNER, "read")
    for header in (None, text):
        answer = call("GET", "/api/runs", header, **{name: text})
        assert (answer.status, "address holds a token" in answer.problem) == (400, True)


@pytest.mark.parametrize(
    "smuggle",
    [
        lambda text: [("authorization", f"Bearer {text}"), ("authorization", "Bearer x")],
        lambda text: [("authorization", f"Basic {text}")],
        lambda text: [("authorization", text)],
        lambda text: [("authorization", f"Bearer {text} ")] * 2,
        lambda text: [("authorization", f"Bearer {text}\u00e9")],
        lambda text: [("authorization", f"Bearer {text}\x00")],
        lambda text: [("authorization", f"Bearer {text}, Bearer {text}")],
        lambda text: [("authorization", f"Bearer \u00b2{text[1:]}")],
        lambda text: [("authorization", f"Bearer {text.upper()}")],
        lambda text: [("authorization", "Bearer " + " " * 90_000 + text)],
        lambda text: [("authorization", f"Bearer\t{text}")],
        lambda text: [("x-forwarded-authorization", f"Bearer {text}")],
        lambda text: [("cookie", f"authorization=Bearer {text}; token={text}")],
    ],
)
def test_no_odd_header_carries_a_token(
    team: Server, smuggle: "Callable[[str], list[tuple[str, str]]]"
) -> None:
    assert call("GET", "/api/runs", headers=smuggle(token_of(RUNNER, "read"))).status == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8501", "", "[", "localhost.evil"])
def test_a_rebound_name_is_refused(team: Server, host: str) -> None:
    answer = call("GET", "/api/runs", token_of(RUNNER, "read"), headers=[("host", host)])
    assert (answer.status, "host name" in answer.problem) == (403, True)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:9", "http://["]
)
def test_another_page_cannot_use_a_token(team: Server, origin: str) -> None:
    answer = call("GET", "/api/runs", token_of(RUNNER, "read"), headers=[("origin", origin)])
    assert (answer.status, "another page" in answer.problem) == (403, True)


def test_many_refused_tokens_wait_and_a_good_one_does_not(team: Server) -> None:
    statuses = [call("GET", "/api/runs", "fsc_guess").status for _ in range(25)]
    assert statuses == [401] * 20 + [429] * 5
    assert call("GET", "/api/runs", token_of(RUNNER, "read")).status == 200


def test_a_broken_script_does_not_fill_the_audit(team: Server) -> None:
    text = token_of(RUNNER, "upload")
    for _ in range(5):
        assert call("GET", "/api/runs", text).status == 403
    assert len(history.entries(action="refuse token")) == 1


# --- what it does ---


def test_each_use_is_the_persons_deed_by_the_token(team: Server, home: Path) -> None:
    text = token_of(RUNNER, "read", "upload", "gate", name="Nightly")
    call("GET", "/api/runs", text)
    call("GET", "/api/runs/archive", text, run="c1.default")
    call("GET", "/api/baselines", text)
    call("PUT", "/api/baselines", text, {"name": "main", "run_id": "c1.default"})
    assert uses(person=account(ISSUER, RUNNER)) == [
        ("baseline", "main", "token Nightly"),
        ("look", "baselines", "token Nightly"),
        ("download", "c1.default", "token Nightly"),
        ("look", "runs", "token Nightly"),
        ("make token", api_tokens.tokens()[0].subject, None),
    ]
    (token,) = api_tokens.tokens()
    assert token.last_used_at is not None


def test_runs_are_listed_and_filtered_as_on_the_command_line(team: Server) -> None:
    text = token_of(VIEWER, "read")
    (run,) = call("GET", "/api/runs", text).json["runs"]
    assert run["run_id"] == "c1.default"
    assert call("GET", "/api/runs", text, workload="none such").json["runs"] == []
    assert call("GET", "/api/runs", text, person=ISSUER).json["runs"] == []
    assert history.entries(action="look")[0].detail["person"] == [ISSUER]
    for query in ({"limit": "0"}, {"limit": "9" * 5000}, {"limit": "²"}, {"where": "1=1"}):
        assert call("GET", "/api/runs", text, **query).status == 422


@pytest.mark.parametrize("run_id", ["../../etc/passwd", "/etc/passwd", "", "x\0y", "no such run"])
def test_no_run_id_becomes_a_path(team: Server, run_id: str) -> None:
    answer = call("GET", "/api/runs/archive", token_of(RUNNER, "read"), run=run_id)
    assert answer.status == 422
    assert b"root:" not in answer.body


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'"x"', b"[" * 60_000, b"x" * 100_000, b'{"name": 1, "run_id": "c1"}',
     b'{"name": "main", "run_id": "c1.default", "person": "root"}'],
)  # fmt: skip
def test_a_body_that_is_no_wish_is_a_sentence(team: Server, body: bytes) -> None:
    text = token_of(RUNNER, "gate")
    for method, path in (("PUT", "/api/baselines"), ("POST", "/api/gate")):
        assert call(method, path, text, body).status == 422
    assert history.baselines() == ()


def test_a_viewers_token_judges_and_sets_no_baseline(team: Server) -> None:
    text = token_of(VIEWER, "gate")
    answer = call("PUT", "/api/baselines", text, {"name": "main", "run_id": "c1.default"})
    assert answer.status == 403
    assert history.baselines() == ()


@pytest.mark.parametrize("key", ["run_id", "name", "note", "baseline", "candidate"])
def test_half_a_character_is_a_sentence(team: Server, key: str) -> None:
    text = token_of(RUNNER, "gate")
    route = ("POST", "/api/gate") if key in ("baseline", "candidate") else ("PUT", "/api/baselines")
    wish = {"name": "main", "run_id": "c1.default"} if route[0] == "PUT" else {}
    wish |= {key: "\ud800"} if wish else {"baseline": "x", "candidate": "x", key: "\ud800"}
    assert call(*route, text, wish).status == 422
    assert history.baselines() == ()


def test_an_admin_sees_and_revokes_the_tokens_of_others_and_nobody_else_does(team: Server) -> None:
    token_of(RUNNER, "read", name="<i>Nightly</i>")
    (token,) = api_tokens.tokens()
    team.is_at("127.0.0.1", SETTINGS, VIEWER)
    assert "Nightly" not in text_of(opened("api_tokens"))
    team.is_at("127.0.0.1", SETTINGS, ADMIN)
    page = opened("api_tokens")
    assert "<b>&lt;i&gt;Nightly&lt;/i&gt;</b> of ada@example.org" in text_of(page)
    checked(page.button(f"fs_revoke_{token.token_id}").click().run())
    assert api_tokens.token(token.token_id).revoked_by == account(ISSUER, ADMIN)


def test_agents_of_a_protocol_that_does_not_start_do_not_wait_for_it(team: Server) -> None:
    @asynccontextmanager
    async def broken(_app: Starlette) -> AsyncIterator[None]:
        raise BadInput("The SDK cannot be used.", remedy="Install it again.")
        yield

    text = token_of(RUNNER, "read")
    for protocol in (lambda **_: Starlette(lifespan=broken), lambda **_: _raise_bad_input()):
        answer = call("POST", "/api/mcp", text, {}, agents=protocol)
        assert (answer.status, answer.problem) == (503, "The SDK cannot be used.")


def _raise_bad_input() -> Starlette:
    raise BadInput("The SDK cannot be used.", remedy="Install it again.")


# --- pushing ---


def test_a_pushed_run_is_its_persons_and_pushed_twice_the_same(team: Server, home: Path) -> None:
    data = zipped(redated_copy(home.parent / "elsewhere", "c2"))
    text = token_of(RUNNER, "upload", name="Nightly")
    first, second = (call("POST", "/api/runs", text, data, name="run.zip") for _ in range(2))
    assert first.status == 200, first.body
    assert first.json["runs"] == second.json["runs"]
    assert history.run("c2.default").person == account(ISSUER, RUNNER)
    means = {e[2] for e in uses(person=account(ISSUER, RUNNER)) if e[0] != "make token"}
    assert means == {"token Nightly"}
    assert {e[0] for e in uses(person=account(ISSUER, RUNNER))} >= {"receive", "upload", "record"}
    uploads = [p for p in (home / "uploads").iterdir() if not p.name.startswith(".")]
    assert len(uploads) == 1  # the second copy of the same files is not kept


@pytest.mark.parametrize(
    "name", ["../../../escaped/run.json", "/tmp/escaped/run.json", "..\\..\\escaped\\run.json"]
)
def test_no_name_in_a_zip_leads_out_of_it(team: Server, home: Path, name: str) -> None:
    data = zip_of({name: (redated_copy(home.parent / "other", "c3") / "run.json").read_bytes()})
    call("POST", "/api/runs", token_of(RUNNER, "upload"), data, name=f"../../{name}")
    written = {p.relative_to(home).parts[0] for p in home.rglob("run.json")}
    assert written <= {"runs", "uploads", "cache"}
    assert not (home.parent / "escaped").exists()
    assert not Path("/tmp/escaped").exists()


def test_a_run_that_contradicts_a_recorded_one_is_refused(team: Server, home: Path) -> None:
    folder = redated_copy(home.parent / "forged", "c1", slower=0.1)
    before = history.run("c1.default")
    answer = call("POST", "/api/runs", token_of(RUNNER, "upload"), zipped(folder))
    assert (answer.status, "contradicts" in answer.problem) == (422, True)
    assert history.run("c1.default") == before


def test_limits_of_uploads_hold_for_pushes(team: Server) -> None:
    text = token_of(RUNNER, "upload")
    team.is_at("127.0.0.1", f"largest_upload_gb = 1e-6\n{SETTINGS}")
    assert call("POST", "/api/runs", text, b"x" * 2000).status == 413
    team.is_at("127.0.0.1", f"upload_quota_gb = 1e-6\n{SETTINGS}")
    assert call("POST", "/api/runs", text, b"x" * 2000).status == 413
    team.is_at("127.0.0.1", SETTINGS)
    assert call("POST", "/api/runs", text, b"").status == 422
    assert call("POST", "/api/runs", text, b"no archive").status == 422
    left = [path for path in (team.home / "uploads").rglob("*") if path.is_file()]
    assert left == []


def test_the_gate_over_http_answers_as_the_command_line(team: Server, home: Path) -> None:
    history.set_baseline("main", "c1.default")
    history.record(redated_copy(home, "c4"))
    text = token_of(VIEWER, "gate")
    asked = {"baseline": "main", "candidate": "c4.default"}
    answer = call("POST", "/api/gate", text, asked)
    assert answer.status == 200, answer.body
    said = answer.json
    assert {"pass": "0", "cannot judge": "3"}[said["outcome"]] == (
        answer.headers["x-fusionscope-exit-status"]
    )
    assert said["checks"][0]["quantity"] == "step_time"
    wrong = call("POST", "/api/gate", text, {**asked, "limits": {"step_time": "soon"}})
    assert wrong.status == 422
    assert call("POST", "/api/gate", text, {**asked, "baseline": "/etc/passwd"}).status == 422


def test_a_run_stays_whose_recording_ended_in_an_error_after_all(
    team: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_run_id: str) -> None:
        raise HistoryUnavailable("The database is away.", remedy="Try again.")

    packed = home.parent / "c5.zip"
    packed.write_bytes(zipped(redated_copy(home.parent / "elsewhere", "c5")))
    with monkeypatch.context() as patch:
        patch.setattr(recording, "recorded_run", away)  # right after the row was written
        with pytest.raises(HistoryUnavailable):
            receive(packed)
    assert history.directory_of(history.run("c5.default")).is_dir()


def test_nothing_is_deleted_that_nobody_can_be_asked_about(
    team: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise HistoryUnavailable("The database is away.", remedy="Try again.")

    packed = home.parent / "c6.zip"
    packed.write_bytes(zipped(redated_copy(home.parent / "elsewhere", "c6")))
    with monkeypatch.context() as patch:
        patch.setattr(receiving, "record", away)
        patch.setattr(receiving, "recorded_keys", away)
        with pytest.raises(HistoryUnavailable):
            receive(packed)
    assert history.reconcile().recorded == ("c6.default",)


def test_no_id_stands_for_what_lies_at_anothers_place(team: Server, home: Path) -> None:
    """A run.json without an id is known by its key, which anybody can read in an address."""
    for run_id in ("upload/20260101-000000-00000000/1", "run/c7/default"):
        forged = redated_copy(home.parent / run_id.replace("/", "-"), "c7", run_id=run_id)
        answer = call("POST", "/api/runs", token_of(RUNNER, "upload"), zipped(forged))
        assert (answer.status, "no usable run_id" in answer.problem) == (422, True)
    redated_copy(home, "c7", run_id="")
    assert history.reconcile().recorded == ("run/c7/default",)
    assert history.run("run/c7/default").key == "run/c7/default"
