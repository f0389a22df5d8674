"""What waits keeps to the lists of the moment when it starts, as what is asked for then does."""

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from profiler_core.capture.elsewhere.host import host_words
from profiler_core.capture.spec import CaptureSpec, parse_sweep
from profiler_core.jobs import directory as files
from profiler_core.settings import Host
from profiler_core.store.history import database
from profiler_core.ui.capture.withdrawn import look_at_rights
from profiler_core.worker.process import module_words
from tests.attack.api import person_of
from tests.attack.conftest import RUNNER, TEAM, Server, Spy
from tests.operate.queued import a_job

CAPTURES = "allow_capture = true\n"
BOX = '[hosts.box]\nssh = "ada@box"\npython = "/opt/there"\n'
CHAT = '[servers.chat]\nurl = "http://chat:8000"\ntraces = "/t"\n'
ENDS = ("--out", "{out}", "--progress", "{progress}")


def words(verb: str, spec: CaptureSpec, *more: str) -> tuple[str, ...]:
    """The command of a job, as the door submits it."""
    return tuple(module_words("profiler_core", verb, *spec.to_argv(), *more, *ENDS))


def test_what_waits_for_a_list_that_changed_is_cancelled(
    server: Server, home: Path, spy: Spy
) -> None:
    python, second = str(spy.path), str(spy.write(home / "second" / "bin" / "python"))
    lists = f'interpreters = ["{python}", "{second}"]\n'
    host = host_words(Host(ssh="ada@box", python="/opt/there"))
    commands = {
        "here": words("capture", CaptureSpec("customcnn")),
        "tried": words("try", CaptureSpec("customcnn"), "--experiment=x", "--budget=60s"),
        "listed": words("capture", CaptureSpec("customcnn", python=python)),
        "tried so": words("try", CaptureSpec("customcnn", python=python), "--levers=mode"),
        "swept": words(
            "capture", CaptureSpec("a.py:f", sweep=parse_sweep(f"python={python},{second}"))
        ),
        "against": words("capture", CaptureSpec("a.py:f", against=f"python:{python}")),
        "there": words("capture", CaptureSpec("customcnn", python="/opt/there"), *host),
    }
    person = person_of(RUNNER)

    def cancelled_by(text: str) -> set[str]:
        server.is_at("127.0.0.1", f"{CAPTURES}{lists}{TEAM}{BOX}")
        with ExitStack() as stack:
            called = {
                stack.enter_context(
                    a_job(home, "queued", supervised=True, kind="try" if "tried" in name else
                          "capture", owner=person, number=number, command=command)
                ).name: name
                for number, (name, command) in enumerate(commands.items())
            }  # fmt: skip
            assert look_at_rights() == ()
            server.is_at("127.0.0.1", text)
            cancelled = {called[job_id] for job_id in look_at_rights()}
            for job_id, name in called.items():
                folder = home / "jobs" / job_id
                assert (folder / files.CANCEL).exists() == (name in cancelled)
                shutil.rmtree(folder)
            return cancelled

    of_the_list = {"listed", "tried so", "swept", "against"}
    assert cancelled_by(f"{CAPTURES}{TEAM}{BOX}") == of_the_list
    assert cancelled_by(f'{CAPTURES}interpreters = ["{python}"]\n{TEAM}{BOX}') == {"swept"}
    assert cancelled_by(f"{CAPTURES}{lists}{TEAM}") == {"there"}
    assert cancelled_by(f"{CAPTURES}{lists}{TEAM}{BOX.replace('box', 'other')}") == {"there"}
    assert cancelled_by(f"{CAPTURES}{lists}{TEAM}{BOX.replace('/opt/there', '/opt/x')}") == {
        "there"
    }
    assert cancelled_by(f'{CAPTURES}runner_user = "nobody"\n{lists}{TEAM}{BOX}') == set(commands)
    database.close_all()


@pytest.mark.parametrize(
    "then",
    [
        f"{CAPTURES}{TEAM}",
        f'{CAPTURES}{TEAM}[servers.chat]\nurl = "http://other:8000"\ntraces = "/t"\n',
        f'{CAPTURES}{TEAM}[servers.chat]\nurl = "http://chat:8000"\ntraces = "/u"\n',
        f"{TEAM}{CHAT}",
        f"{CAPTURES}{TEAM.replace(RUNNER, 'eve@example.org')}{CHAT}",
    ],
)
def test_a_profile_of_a_server_that_waits_keeps_to_the_list_and_the_role(
    server: Server, home: Path, then: str
) -> None:
    server.is_at("127.0.0.1", f"{CAPTURES}{TEAM}{CHAT}")
    command = module_words(
        "profiler_core.cli.server_profile_job", "u", "--url=http://chat:8000", "--traces=/t",
        "--seconds=1",
    )  # fmt: skip
    person = person_of(RUNNER)
    with a_job(
        home, "queued", supervised=True, kind="ingest", owner=person, command=tuple(command)
    ) as job:
        assert look_at_rights() == ()
        server.is_at("127.0.0.1", then)
        assert look_at_rights() == (job.name,)
    database.close_all()


@pytest.mark.parametrize("runner", ["nobody", None])
def test_what_was_asked_for_as_another_user_stays_so(
    server: Server, home: Path, runner: str | None
) -> None:
    server.is_at("127.0.0.1", f'{CAPTURES}runner_user = "nobody"\n{TEAM}')
    command, person = words("capture", CaptureSpec("customcnn")), person_of(RUNNER)
    with a_job(
        home, "queued", supervised=True, kind="capture", owner=person, command=command,
        runner=runner,
    ) as job:  # fmt: skip
        assert look_at_rights() == (() if runner else (job.name,))
    database.close_all()
