"""What somebody asked for who may not do it any more."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from profiler_core.jobs import directory as files
from profiler_core.store.history import database
from profiler_core.ui.capture.withdrawn import cancel_withdrawn
from tests.attack.api import person_of
from tests.attack.conftest import RUNNER, TEAM, Server
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
        ("queued", "read", person), ("queued", "capture", "oidc:https://nobody#knows"),
    )  # fmt: skip
    with ExitStack() as stack:
        waiting, trying, *_others = [
            stack.enter_context(
                a_job(home, state, supervised=True, kind=kind, owner=owner, number=number)
            )
            for number, (state, kind, owner) in enumerate(kinds)
        ]
        assert cancel_withdrawn() == ()
        server.is_at("127.0.0.1", then)
        withdrawn = {waiting.name, trying.name}
        if "allow_capture = false" in then:  # nobody may, whoever it is
            withdrawn.add(_others[-1].name)
        assert set(cancel_withdrawn()) == withdrawn
        cancelled = {path.parent.name for path in home.glob(f"jobs/*/{files.CANCEL}")}
        assert cancelled == withdrawn
        assert cancel_withdrawn() == ()
    database.close_all()
