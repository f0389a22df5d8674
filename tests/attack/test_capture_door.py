"""The capture page and the agents' server start nothing without the right to."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from profiler_core.agents import capturing
from profiler_core.capture.spec import CaptureSpec, parse_sweep
from profiler_core.door import deeds
from profiler_core.door.asker import Refused
from profiler_core.door.interpreters import interpreter_for
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.jobs import service as jobs
from profiler_core.person import account
from profiler_core.store import history
from profiler_core.ui.sign_in.asker import asker
from tests.apps import PAGES
from tests.attack.conftest import ISSUER, RUNNER, SECRETS, TEAM, VIEWER, Server, Spy

ALLOWED = "allow_capture = true\n"
SETTLED_S = 0.5  # a thread that were to start something would have by then
WITHIN_S = 240.0


def capture_page(python: str = "") -> AppTest:
    app = AppTest.from_file(str(PAGES / "capture.py"), default_timeout=300)
    if python:
        app.session_state["fs_c_python"] = python
        app.query_params["fs_c_python"] = python
        app.query_params["python"] = python
    return app.run()


@pytest.mark.parametrize(
    ("address", "text", "who"),
    [
        ("127.0.0.1", TEAM, VIEWER),  # captures are off
        ("127.0.0.1", ALLOWED + TEAM, VIEWER),
        ("127.0.0.1", ALLOWED + TEAM, None),
        ("127.0.0.1", TEAM, RUNNER),  # captures are off
        ("0.0.0.0", "", None),  # a public address, and nobody signs in
        ("0.0.0.0", ALLOWED, None),
        ("", ALLOWED, None),
    ],
)
def test_the_page_starts_nothing_for_who_may_not_capture(
    server: Server, spy: Spy, started: list[str], address: str, text: str, who: str | None
) -> None:
    server.is_at(address, text, who)
    app = capture_page(str(spy.path))
    assert not app.exception
    time.sleep(SETTLED_S)
    assert started == []
    assert not spy.has_run


@pytest.mark.parametrize("listed", ["", 'interpreters = ["/opt/torch"]\n'])
def test_a_runner_cannot_name_an_interpreter_outside_of_the_list(
    server: Server, spy: Spy, started: list[str], listed: str
) -> None:
    server.is_at("127.0.0.1", ALLOWED + listed + TEAM, RUNNER)
    app = capture_page(str(spy.path))
    assert not app.exception
    time.sleep(SETTLED_S)
    assert not spy.has_run
    assert not any(str(spy.path) in line for line in started)
    who = asker()
    for ask in (
        lambda: deeds.ask_interpreter(who, str(spy.path)),
        lambda: deeds.start_capture(who, a_spec(python=str(spy.path))),
    ):
        with pytest.raises(Refused, match="may not be started"):
            ask()
    assert jobs.jobs() == ()
    assert history.entries() == ()


def test_neither_links_nor_dots_lead_around_the_list(
    server: Server, spy: Spy, tmp_path: Path
) -> None:
    own = tmp_path / "listed"
    listed = Spy(tmp_path / "other").write(own / "bin" / "python")
    server.is_at("127.0.0.1", f'{ALLOWED}interpreters = ["{own}"]\n{TEAM}', RUNNER)
    who = asker()
    assert who is not None
    assert interpreter_for(str(own), who) == interpreter_for(str(listed), who) == str(listed)
    link = tmp_path / "link"
    link.symlink_to(own)
    swapped = own / "bin" / "python3"
    swapped.symlink_to(spy.path)
    spy_name = spy.path.relative_to(tmp_path)
    for text in (
        str(link),
        str(link / "bin" / "python"),
        f"{own}/../{spy_name}",
        f"{own}/bin/../../{spy_name}",
        str(swapped),
        f"{own}/",
        f"{own}\n{spy.path}",
        f"--python={spy.path}",
        "python3",
        "~/python",
    ):
        try:
            answer = interpreter_for(text, who)
        except Refused:
            continue
        assert answer == str(listed)  # never what was typed
    assert not spy.has_run


def test_what_names_a_workload_cannot_name_an_interpreter(server: Server, spy: Spy) -> None:
    server.is_at("127.0.0.1", ALLOWED + TEAM, RUNNER)
    with pytest.raises(Refused, match="not a model name"):
        deeds.start_capture(asker(), a_spec(workload=f"--python={spy.path}"))
    assert jobs.jobs() == ()


def test_a_sweep_over_interpreters_cannot_name_one_outside_of_the_list(
    server: Server, spy: Spy
) -> None:
    server.is_at("127.0.0.1", ALLOWED + TEAM, RUNNER)
    spec = a_spec(sweep=parse_sweep(f"python={spy.path},python3"))
    with pytest.raises(Refused, match="may not be started"):
        deeds.start_capture(asker(), spec)
    assert jobs.jobs() == ()
    assert history.entries() == ()


def test_where_captures_run_as_another_user_none_runs_as_the_server(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.is_at("127.0.0.1", 'runner_user = "no-such-user"\n' + ALLOWED + TEAM, RUNNER)
    with pytest.raises(BadInput, match="there is no user no-such-user"):
        deeds.start_capture(asker(), a_spec())
    assert (jobs.jobs(), history.entries()) == ((), ())
    server.is_at("127.0.0.1", 'runner_user = "nobody"\n' + ALLOWED + TEAM, RUNNER)
    monkeypatch.setattr("profiler_core.jobs.runner.why_not_as", lambda _: None)
    submitted: list[object] = []
    monkeypatch.setattr(jobs, "submit", lambda _, **more: submitted.append(more["runner"]))
    deeds.start_capture(asker(), a_spec())
    assert submitted == ["nobody"]


def test_nothing_starts_that_the_audit_cannot_hold(
    server: Server, spy: Spy, started: list[str], home: Path
) -> None:
    server.is_at("localhost")
    who = asker()
    (home / "history.sqlite3").mkdir()  # a database that cannot be opened
    for deed in (
        lambda: deeds.ask_interpreter(who, str(spy.path)),
        lambda: deeds.start_capture(who, a_spec(python=str(spy.path))),
        lambda: deeds.make_file(who, "report", (home,), ".html", ()),
        lambda: deeds.start_reading_upload(who, "u", (0,)),
    ):
        with pytest.raises(FusionscopeError) as error:
            deed()
        assert error.value.problem and error.value.remedy
    app = capture_page(str(spy.path))
    assert not app.exception
    time.sleep(SETTLED_S)
    assert started == []
    assert jobs.jobs() == ()


def test_on_ones_own_machine_any_interpreter_is_asked_after_it_was_written_down(
    server: Server, spy: Spy
) -> None:
    server.is_at("localhost")
    question = deeds.ask_interpreter(asker(), str(spy.path))
    (entry,) = history.entries()
    assert (entry.action, entry.subject) == ("ask interpreter", str(spy.path))
    assert not spy.has_run
    question.answer(WITHIN_S)
    assert spy.has_run


def test_an_interpreter_sees_no_secret_of_the_server(
    server: Server, spy: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f'{ALLOWED}interpreters = ["{spy.path}"]\ncapture_variables = ["GITHUB_TOKEN"]\n{TEAM}'
    server.is_at("127.0.0.1", text, RUNNER)
    with monkeypatch.context() as patch:
        question = _with_secrets(patch, lambda: deeds.ask_interpreter(asker(), str(spy.path)))
        question.answer(WITHIN_S)
    seen = [word for word in SECRETS if f"{word}=" in spy.environment]
    assert seen == ["GITHUB_TOKEN"]  # as the owner decided
    assert spy.environment.count("s3cret") == 1
    assert "PATH=" in spy.environment


def test_a_capture_sees_no_secret_of_the_server(
    server: Server, spy: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its supervisor and its command neither, through which everything else is inherited."""
    server.is_at("127.0.0.1", f'{ALLOWED}interpreters = ["{spy.path}"]\n{TEAM}', RUNNER)
    with monkeypatch.context() as patch:
        spec = a_spec(python=str(spy.path))
        job_id = _with_secrets(patch, lambda: deeds.start_capture(asker(), spec))
    _until(lambda: spy.has_run)
    assert "s3cret" not in spy.environment
    _until(lambda: not jobs.job(job_id).is_live)
    assert jobs.job(job_id).spec.owner == account(ISSUER, RUNNER)
    (entry,) = history.entries()
    assert (entry.person, entry.action) == (account(ISSUER, RUNNER), "capture")


def test_on_ones_own_machine_a_capture_keeps_what_the_shell_would_give_it(
    server: Server, spy: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.is_at("localhost")
    with monkeypatch.context() as patch:
        question = _with_secrets(patch, lambda: deeds.ask_interpreter(asker(), str(spy.path)))
    question.answer(WITHIN_S)
    assert "GITHUB_TOKEN=s3cret-github" in spy.environment
    for word in ("DATABASE", "ARTIFACTS", "STREAMLIT", "PGPASS"):
        assert word not in spy.environment


def test_readers_and_tools_see_no_secret(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from profiler_core.worker.environment import child_environment

    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    assert "s3cret" not in repr(child_environment())
    assert "s3cret-database" in repr(child_environment(("database",)))
    assert "s3cret-aws" not in repr(child_environment(("database",)))
    assert "s3cret-cookie" not in repr(child_environment(("database", "remote")))


# MCP


def an_agent_asks(spy: Spy, **more: str) -> capturing.Started:
    return capturing.start_capture("customcnn", python=str(spy.path), **more)


def test_an_agent_on_a_teams_machine_keeps_to_the_list(server: Server, spy: Spy) -> None:
    server.is_at("127.0.0.1", ALLOWED + TEAM)
    with pytest.raises(Refused, match="may not be started"):
        an_agent_asks(spy)
    server.is_at("127.0.0.1", TEAM)
    with pytest.raises(Refused, match="switched off"):
        an_agent_asks(spy)
    assert jobs.jobs() == ()


def test_an_agent_keeps_to_the_list_of_ones_own_machine(server: Server, spy: Spy) -> None:
    server.is_at("localhost", 'interpreters = ["/opt/torch"]\n')
    with pytest.raises(Refused, match="may not be started"):
        an_agent_asks(spy)
    assert jobs.jobs() == ()


def test_an_agents_capture_is_written_down_or_does_not_start(
    server: Server, spy: Spy, home: Path
) -> None:
    server.is_at("localhost")
    job = an_agent_asks(spy).job
    (entry,) = history.entries()
    assert entry.action == "capture" and entry.detail["by"] == "agent"
    assert jobs.job(str(job)).spec.owner == "agent"
    _until(lambda: not jobs.job(str(job)).is_live)
    history.database.close_all()
    for file in home.glob("history.sqlite3*"):
        file.unlink()
    (home / "history.sqlite3").mkdir()
    with pytest.raises(FusionscopeError):
        an_agent_asks(spy)
    assert len(jobs.jobs()) == 1


def test_an_agents_workload_is_no_option(server: Server, spy: Spy) -> None:
    server.is_at("localhost")
    with pytest.raises(FusionscopeError):
        capturing.start_capture(f"--python={spy.path}")
    assert jobs.jobs() == ()


def a_spec(workload: str = "customcnn", **fields: object) -> CaptureSpec:
    return replace(CaptureSpec(workload), **fields)


def _with_secrets(patch: pytest.MonkeyPatch, ask):  # type: ignore[no-untyped-def]
    """Ask while the server's environment holds them; the history itself stays the test's."""
    patch.setattr(history, "note", _noting(history.note))
    for name, value in SECRETS.items():
        patch.setenv(name, value)
    return ask()


def _noting(real):  # type: ignore[no-untyped-def]
    def note(*words: object, **detail: object) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("FUSIONSCOPE_DATABASE_URL", raising=False)
            patch.delenv("FUSIONSCOPE_ARTIFACTS_URL", raising=False)
            real(*words, **detail)

    return note


def _until(holds) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
