"""What somebody asked for who may not do it any more."""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from profiler_core.agents import capturing, experimenting, over_http
from profiler_core.answers.record import Answer
from profiler_core.capture.spec import CaptureSpec
from profiler_core.door import deeds, waiting
from profiler_core.door.asker import asking
from profiler_core.errors import BadInput
from profiler_core.jobs import directory as files
from profiler_core.jobs import rights
from profiler_core.jobs import service as jobs
from profiler_core.jobs.directory import JobSpec
from profiler_core.store import incoming
from profiler_core.store.history import api_tokens, database
from profiler_core.store.history.api_tokens import make_token, revoke_token
from profiler_core.ui.capture.withdrawn import look_at_rights
from profiler_core.ui.routes import agents, bearer
from profiler_core.ui.sign_in.asker import asker_of
from profiler_core.ui.sign_in.by_token import visitor_by_token
from tests.attack.api import person_of
from tests.attack.conftest import RUNNER, TEAM, Server
from tests.jobs.waiting import wait_for
from tests.operate.queued import a_job

VIEWERS = '[team]\nviewers = ["*@example.org"]\n'


@pytest.mark.parametrize(
    "then", [f"allow_capture = true\n{VIEWERS}", f"allow_capture = false\n{TEAM}"]
)
def test_no_capture_that_waits_starts_once_its_person_may_start_none(
    server: Server, home: Path, then: str
) -> None:
    server.is_at("127.0.0.1", f"allow_capture = true\n{TEAM}")
    person = person_of(RUNNER)
    kinds = (
        ("queued", "capture", person), ("queued", "try", person), ("running", "capture", person),
        ("queued", "read", person),
    )  # fmt: skip
    with ExitStack() as stack:
        waiting, trying, *_ = [
            stack.enter_context(
                a_job(home, state, supervised=True, kind=kind, owner=owner, number=number)
            )
            for number, (state, kind, owner) in enumerate(kinds)
        ]
        assert look_at_rights() == ()
        server.is_at("127.0.0.1", then)
        withdrawn = {waiting.name, trying.name}
        assert set(look_at_rights()) == withdrawn
        cancelled = {path.parent.name for path in home.glob(f"jobs/*/{files.CANCEL}")}
        assert cancelled == withdrawn
        assert look_at_rights() == ()
    database.close_all()


def test_what_an_account_queued_that_no_rule_names_is_cancelled(server: Server, home: Path) -> None:
    stranger, named = "oidc:https://nobody#knows", "oidc:https://rule#names"
    server.is_at("127.0.0.1", f'allow_capture = true\n[team]\nrunners = ["*@x.org", "{named}"]\n')
    with (
        a_job(home, "queued", supervised=True, kind="capture", owner=named, number=1),
        a_job(home, "queued", supervised=True, kind="capture", owner=stranger, number=2) as job,
    ):
        assert look_at_rights() == (job.name,)
    database.close_all()


def test_what_waited_without_a_server_starts_only_after_its_right_was_asked_for_anew(
    server: Server, home: Path
) -> None:
    """A role that was taken away while no server ran: the capture started all the same."""
    server.is_at("127.0.0.1", f"allow_capture = true\n{TEAM}")
    person = person_of(RUNNER)
    ahead = capture(home, "ahead", person)
    wait_for(lambda: jobs.job(ahead).state == "running")
    waiting, kept = capture(home, "waiting", person), capture(home, "kept", "ada-of-this-machine")
    wait_for(lambda: jobs.job(kept).waiting_for)
    server.is_at("127.0.0.1", f"allow_capture = true\n{VIEWERS}")
    (home / "ahead.go").touch()
    wait_for(lambda: "may capture" in (jobs.job(waiting).waiting_for or ""))
    time.sleep(1)  # some of its looks
    assert jobs.job(waiting).state == "queued"
    assert look_at_rights() == (waiting,)
    wait_for(lambda: jobs.job(waiting).state == "cancelled")
    assert "Your role here is viewer" in (jobs.job(waiting).error or "")
    wait_for(lambda: jobs.job(kept).state == "running")
    (home / "kept.go").touch()
    wait_for(lambda: jobs.job(kept).state == "finished")
    assert not (home / "waiting.began").exists()
    database.close_all()


def test_a_capture_that_waits_for_a_device_used_from_a_shell_is_cancelled(
    server: Server, home: Path
) -> None:
    server.is_at("127.0.0.1", f"allow_capture = true\n{TEAM}")
    person = person_of(RUNNER)
    with a_job(home, "running", supervised=True, kind="capture", owner=person) as job:
        line = {"t": time.time(), "phase": "queued", "text": "cpu is used by pid 12."}
        (job / files.PROGRESS).write_text(f"{json.dumps(line)}\n")
        assert look_at_rights() == ()
        server.is_at("127.0.0.1", f"allow_capture = true\n{VIEWERS}")
        assert look_at_rights() == (job.name,)
    database.close_all()


def test_what_waited_starts_when_a_server_says_yes(server: Server, home: Path) -> None:
    server.is_at("127.0.0.1", f"allow_capture = true\n{TEAM}")
    person = person_of(RUNNER)
    ahead, waiting = capture(home, "ahead", person), capture(home, "waiting", person)
    wait_for(lambda: jobs.job(waiting).waiting_for)
    assert look_at_rights() == ()  # asked before its turn: no yes for later
    (home / "ahead.go").touch()
    wait_for(lambda: "may capture" in (jobs.job(waiting).waiting_for or ""))
    assert look_at_rights() == ()
    wait_for(lambda: jobs.job(waiting).state == "running")
    (home / "waiting.go").touch()
    wait_for(lambda: jobs.job(waiting).state == jobs.job(ahead).state == "finished")
    database.close_all()


def test_a_yes_holds_for_one_question_of_this_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = JobSpec(
        job_id="a", command=(), title="", device="", submitted_at=0, owner="oidc:https://a#b"
    )
    now = [100.0]
    monkeypatch.setattr("profiler_core.jobs.rights.time.clock_gettime", lambda _: now[0])
    right = rights.Right(tmp_path, spec, is_first_start=True)
    assert not right.is_confirmed()  # submitted long ago
    rights.confirm(tmp_path, rights.question(tmp_path))
    assert right.is_confirmed()
    now[0] += 3600  # the machine slept
    assert not right.is_confirmed()
    rights.confirm(tmp_path, rights.question(tmp_path))
    assert right.is_confirmed()
    right.lapse()
    assert not right.is_confirmed()


def test_what_a_revoked_token_asked_for_is_cancelled(server: Server, home: Path) -> None:
    """What waits of it, of every kind; what runs only where it is somebody's code."""
    server.is_at("127.0.0.1", f"allow_capture = true\n{TEAM}")
    person = person_of(RUNNER)
    token, _ = make_token(person, "CI", ("capture", "upload"), days=1)
    other, _ = make_token(person, "other", ("capture", "upload"), days=1)
    kinds = (
        ("queued", "capture", token), ("running", "capture", token), ("running", "try", token),
        ("queued", "ingest", token), ("running", "ingest", token),
        ("queued", "capture", other), ("running", "capture", other),
    )  # fmt: skip
    with ExitStack() as stack:
        submitted = [
            stack.enter_context(
                a_job(home, state, supervised=True, kind=kind, owner=person, number=number,
                      token=by.token_id)
            ).name
            for number, (state, kind, by) in enumerate(kinds)
        ]  # fmt: skip
        assert look_at_rights() == ()
        revoke_token(token.token_id, person=person)
        assert sorted(look_at_rights()) == submitted[:4]
        assert look_at_rights() == ()
    database.close_all()


def test_a_database_that_is_away_for_a_moment_revokes_no_token(
    server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.is_at("127.0.0.1", f"allow_capture = true\n{TEAM}")
    person = person_of(RUNNER)
    token, _ = make_token(person, "CI", ("capture", "upload"), days=1)

    def away(_token_id: str) -> api_tokens.ApiToken:
        raise database.HistoryUnavailable("The server closed the connection.", remedy="Wait.")

    with ExitStack() as stack:
        for number, (state, kind) in enumerate((("queued", "ingest"), ("running", "capture"))):
            job = a_job(home, state, supervised=True, kind=kind, owner=person, number=number,
                        token=token.token_id)  # fmt: skip
            stack.enter_context(job)
        with monkeypatch.context() as patch:
            patch.setattr(api_tokens, "token", away)
            with pytest.raises(database.HistoryUnavailable):
                look_at_rights()
        assert not list(home.rglob(files.CANCEL))
        assert look_at_rights() == ()
    database.close_all()


def test_a_capture_of_a_revoked_token_ends_with_a_sentence(server: Server, home: Path) -> None:
    server.is_at("127.0.0.1", f"allow_capture = true\n{TEAM}")
    person = person_of(RUNNER)
    token, _ = make_token(person, "CI", ("capture",), days=1)
    job_id = capture(home, "runs", person, token=token.token_id)
    wait_for((home / "runs.began").exists)
    revoke_token(token.token_id, person=person)
    assert look_at_rights() == (job_id,)
    wait_for(lambda: jobs.job(job_id).state == "cancelled")
    ended = jobs.job(job_id)
    assert ended.error == "The API token that asked for this was revoked."
    assert ended.remedy == "Ask for it with another token."
    database.close_all()


@pytest.mark.parametrize("verb", ["start_capture", "push"])
def test_a_job_knows_the_token_that_asked_for_it(verb: str, server: Server, home: Path) -> None:
    server.is_at("127.0.0.1", f"allow_capture = true\n{TEAM}")
    token, _ = make_token(person_of(RUNNER), "CI", ("capture", "upload"), days=1)
    who = visitor_by_token(token)
    assert who is not None
    if verb == "push":
        upload_id = incoming.new_upload_id()
        incoming.incoming_directory(upload_id).mkdir(parents=True)
        job_id = deeds.start_recording_push(asker_of(who), upload_id, "x.zip", "token CI")
    else:
        job_id = deeds.start_capture(asker_of(who), CaptureSpec(workload="no-such-model"))
    assert jobs.job(job_id).spec.token == token.token_id
    jobs.cancel(job_id)
    wait_for(lambda: not jobs.job(job_id).is_live)
    database.close_all()


@pytest.mark.parametrize("tool", [capturing.capture_progress, experimenting.try_progress])
def test_a_question_that_waits_tells_a_revoked_token_nothing(
    tool: Callable[..., Answer], server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.is_at("127.0.0.1", f"allow_capture = true\n{TEAM}")
    person = person_of(RUNNER)
    token, text = make_token(person, "CI", ("read", "capture"), days=1)
    job_id = capture(home, "waits", person, token=token.token_id)
    wait_for((home / "waits.began").exists)
    waited = []

    async def revoked_meanwhile(_seconds: float) -> None:
        if not waited:
            waited.append(True)
            revoke_token(token.token_id, person=person)
            (home / "waits.go").touch()
            wait_for(lambda: not jobs.job(job_id).is_live)

    monkeypatch.setattr(waiting, "asyncio", SimpleNamespace(sleep=revoked_meanwhile))
    monkeypatch.setattr(experimenting, "job_of", lambda _: jobs.job(job_id))
    monkeypatch.setattr(experimenting, "_trying", lambda _: capturing._progress(jobs.job(job_id)))
    named = {"job" if tool is capturing.capture_progress else "experiment": job_id}
    admitted = bearer._admitted(text, "", "read", "look")
    assert isinstance(admitted, bearer.Admitted)
    with (
        asking(asker_of(admitted.visitor), partial(agents._asker_now, admitted)),
        pytest.raises(BadInput, match="may not do this any more"),
    ):
        asyncio.run(over_http._answered(tool, {**named, "wait_seconds": 60}))
    assert waited
    database.close_all()


def capture(home: Path, name: str, owner: str, token: str | None = None) -> str:
    """A job of one device that says that it began, and ends when it is told to."""
    script = f"touch {home}/{name}.began; until [ -e {home}/{name}.go ]; do sleep 0.05; done"
    return jobs.submit(["sh", "-c", script], title=name, device="cpu", owner=owner, token=token)
