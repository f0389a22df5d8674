"""Nobody gets hold of another's run by sending one that calls itself by its id."""

import json
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from profiler_core.capture.launcher import new_capture_id
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import FusionscopeError
from profiler_core.jobs.received import take_in
from profiler_core.model.history import RecordedRun
from profiler_core.owner_file import write_owner
from profiler_core.person import account
from profiler_core.store import history
from profiler_core.store.history import database
from profiler_core.ui.routes import bearer
from profiler_core.ui.routes.refused_tokens import RefusedTokens
from tests.attack.api import Answer, call, token_of, zipped
from tests.attack.conftest import ISSUER, Server
from tests.store.history.samples import redated_copy

pytestmark = pytest.mark.usefixtures("quick_modules")

TEAM = '[team]\nrunners = ["*@example.org"]\n'
ADA, MALLORY = "ada@example.org", "mallory@example.org"
FORGED = {"status": "failed", "measurement": None, "workload": "forged"}
RUN = "c1.default"


@pytest.fixture
def team(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(bearer, "_refused", RefusedTokens())
    server.is_at("127.0.0.1", TEAM)
    yield server
    database.close_all()


@pytest.fixture
def finished(team: Server, home: Path, tmp_path: Path) -> Path:
    """Ada's run, whose files lie in the library, and a copy of them that anybody may have."""
    history.record(redated_copy(home, "c1"), person=account(ISSUER, ADA))
    return redated_copy(tmp_path / "copy", "c1")


def sent(person: str, folder: Path) -> Answer:
    return call("POST", "/api/runs", token_of(person, "upload"), zipped(folder), name="r.zip")


def dropped(home: Path, person: str, run: Path) -> RecordedRun:
    """The same by the drop zone: an upload's folder, which the history takes in later."""
    folder = home / "uploads" / f"20260101-000000-{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    write_owner(folder, account(ISSUER, person))
    shutil.copytree(run, folder / "1")
    return history.record(folder / "1")


@pytest.mark.parametrize("status", ["finished", "failed"])
def test_a_forged_run_takes_the_place_of_no_run_whose_files_went(
    team: Server, home: Path, tmp_path: Path, status: str
) -> None:
    changes = {} if status == "finished" else {"status": status, "measurement": None}
    run = history.record(redated_copy(home, "c1", **changes), person=account(ISSUER, ADA))
    history.delete_files([run])  # as retention does; the numbers stay
    forged = redated_copy(tmp_path / "forged", "c1", **FORGED)
    with pytest.raises(FusionscopeError, match="is somebody else's"):
        dropped(home, MALLORY, forged)
    assert history.run(RUN).key == run.key


def test_a_push_does_neither(team: Server, finished: Path, tmp_path: Path) -> None:
    history.delete_files([history.run(RUN)])
    answer = sent(MALLORY, redated_copy(tmp_path / "forged", "c1", **FORGED))
    assert (answer.status, "is somebody else's" in answer.problem) == (422, True)
    assert history.run(RUN).key == "run/c1/default"


def test_the_very_files_come_back_from_whose_run_it_is_alone(
    team: Server, home: Path, finished: Path
) -> None:
    """Whose folder they lay in could then delete the run, its numbers too."""
    history.delete_files([history.run(RUN)])
    with pytest.raises(FusionscopeError, match="is somebody else's"):
        dropped(home, MALLORY, finished)
    assert history.run(RUN).key == "run/c1/default"
    assert dropped(home, ADA, finished).key.startswith("upload/")


def test_who_runs_the_server_may_bring_files_back(team: Server, home: Path, finished: Path) -> None:
    history.delete_files([history.run(RUN)])
    assert history.record(finished, person="root").person == account(ISSUER, ADA)
    assert history.has_files(history.run(RUN))


def test_what_another_deleted_stays_in_the_trash(team: Server, home: Path, finished: Path) -> None:
    history.delete_run(RUN, person=account(ISSUER, ADA))
    with pytest.raises(FusionscopeError, match="lies in the trash"):
        dropped(home, MALLORY, finished)
    assert dropped(home, ADA, finished).run_id == RUN


def test_nobody_is_recorded_by_the_id_of_a_capture_that_still_runs(
    team: Server, home: Path, tmp_path: Path
) -> None:
    """The capture could not be recorded after that: it contradicted."""
    running = redated_copy(home, "c1", status="running", measurement=None)
    forged = redated_copy(tmp_path / "forged", "c1", slower=9.0)
    with pytest.raises(FusionscopeError, match="is the id of a capture of this server"):
        dropped(home, MALLORY, forged)
    shutil.rmtree(running)
    assert history.record(redated_copy(home, "c1")).key == "run/c1/default"


def test_a_capture_that_comes_home_after_a_forged_one_stays_and_is_named(
    team: Server, home: Path, tmp_path: Path
) -> None:
    """Nobody can guess the id before; who knew it (the other machine did) keeps it out, aloud."""
    dropped(home, MALLORY, redated_copy(tmp_path / "forged", "c1", slower=9.0))
    made = home / "runs" / ".elsewhere-1" / "made"
    mine = redated_copy(tmp_path / "there", "c1")
    shutil.copytree(mine.parent, made / "c1")
    assert take_in(made, home / "runs", account(ISSUER, ADA)) == 1
    ((folder, problem),) = history.reconcile().problems
    assert (folder, "This is not the run" in problem) == ("c1/default", True)
    assert (home / "runs" / "c1" / "default" / "run.json").read_bytes() == (
        mine / "run.json"
    ).read_bytes()
    history.delete_run(RUN, person=account(ISSUER, MALLORY))
    (deletion,) = history.trash_contents()
    history.empty(deletion.deletion_id, person=account(ISSUER, MALLORY))
    assert history.reconcile().recorded == (RUN,)
    assert history.run(RUN).person == account(ISSUER, ADA)


def test_an_id_of_a_capture_cannot_be_guessed() -> None:
    ids = {new_capture_id(CaptureSpec("resnet50")) for _ in range(2000)}
    assert len(ids) == 2000
    assert all(len(each.rpartition("-")[2]) >= 8 for each in ids)


def test_a_record_that_says_another_id_than_was_recorded_from_there_is_named(
    team: Server, home: Path, tmp_path: Path
) -> None:
    for capture in ("c1", "c2"):
        history.record(redated_copy(home, capture), person=account(ISSUER, ADA))
    file = home / "runs" / "c1" / "default" / "run.json"
    recorded = file.read_text()
    for says in ("c2.default", "c9.default", ""):  # another's, nobody's, none
        file.write_text(json.dumps({**json.loads(recorded), "run_id": says}))
        problems = dict(history.reconcile().problems)
        assert "has the run “c1.default” there" in problems["c1/default"]
        with pytest.raises(FusionscopeError, match=r"has the run “c1\.default” there"):
            history.record(file.parent)
        assert {run.run_id: run.key for run in history.runs()} == {
            "c1.default": "run/c1/default", "c2.default": "run/c2/default",
        }  # fmt: skip
    file.write_text(recorded)
    assert history.reconcile() == history.Reconciled((), ())
    copied = redated_copy(home, "c3", run_id="c2.default", slower=2.0)  # beside it, by hand
    assert [folder for folder, _ in history.reconcile().problems] == ["c3/default"]
    shutil.copy(home / "runs" / "c2" / "default" / "run.json", copied / "run.json")
    assert history.reconcile().problems == ()  # the very run a second time
