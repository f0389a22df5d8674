"""Two who send one id at the same moment: one run is kept whole, the other is it or is refused."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.model.history import RecordedRun
from profiler_core.person import account
from profiler_core.store import history
from profiler_core.store.history import database, places, recording
from profiler_core.store.history.integrity import changed_files
from tests.attack.conftest import ISSUER, Server
from tests.store.history.conftest import kind, new_database, postgres_url  # noqa: F401
from tests.store.history.samples import redated_copy

TEAM = '[team]\nrunners = ["*@example.org"]\n'
ADA, MALLORY = (account(ISSUER, email) for email in ("ada@example.org", "mallory@example.org"))
RUN = "c1.default"


@pytest.fixture
def team(
    server: Server,
    kind: str,  # noqa: F811
    new_database: Callable[[str], str | None],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Server]:
    server.is_at("127.0.0.1", TEAM)
    url = new_database(kind)
    if url is not None:
        monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", url)
    yield server
    database.close_all()


def uploaded(home: Path, name: str, **changes: Any) -> Path:
    """A run of that id, as the reading of an upload leaves it."""
    made = redated_copy(home / f"sent-{name}", "c1", **changes)
    folder = home / "uploads" / f"20260101-000000-{name:0>8}"
    folder.mkdir(parents=True)
    shutil.copytree(made, folder / "1")
    return folder / "1"


def meanwhile(deed: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, between the look at what is recorded and the row: the other one."""
    metrics_of, waiting = recording.metrics_of, [deed]

    def measured(*arguments: Any) -> Any:
        if waiting:
            waiting.pop()()
        return metrics_of(*arguments)

    monkeypatch.setattr(recording, "metrics_of", measured)


def whole(run: RecordedRun) -> bool:
    """Are its files those that were recorded, and its numbers of them?"""
    directory = places.directory_of_key(run.key)
    assert directory is not None
    return not changed_files(run.run_id, directory, fully=True)


def test_of_two_with_other_content_one_is_kept_and_one_refused(
    team: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, forged = uploaded(home, "1"), uploaded(home, "2", slower=9.0, workload="forged")
    meanwhile(lambda: history.record(mine, person=ADA), monkeypatch)
    with pytest.raises(BadInput, match="contradicts"):
        history.record(forged, person=MALLORY)
    run = history.run(RUN)
    assert (run.person, run.key, run.workload != "forged") == (ADA, places.key_of(mine), True)
    assert whole(run)


def test_of_two_with_the_same_content_both_are_told_the_same(
    team: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = uploaded(home, "1"), uploaded(home, "2")
    meanwhile(lambda: history.record(first, person=ADA), monkeypatch)
    assert history.record(second, person=MALLORY).key == places.key_of(first)
    assert history.run(RUN).person == ADA
    assert whole(history.run(RUN))


def test_what_is_deleted_in_between_stays_deleted(
    team: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = uploaded(home, "1")

    def recorded_and_deleted() -> None:
        history.record(mine, person=ADA)
        history.delete_run(RUN, person=ADA)

    meanwhile(recorded_and_deleted, monkeypatch)
    with pytest.raises(BadInput, match="lies in the trash"):
        history.record(uploaded(home, "2", slower=9.0), person=MALLORY)
    assert [entry.subject for entry in history.entries(action="delete")]


def test_of_many_threads_one_wins(team: Server, home: Path) -> None:
    sent = [uploaded(home, str(n), slower=1.0 + n) for n in range(1, 7)]
    history.runs()  # the tables are made
    outcomes: list[str] = []

    def send(folder: Path, number: int) -> None:
        try:
            outcomes.append(str(history.record(folder, person=f"oidc:x#{number}").key))
        except FusionscopeError as error:
            outcomes.append(f"refused: {error.problem}")

    threads = [Thread(target=send, args=(folder, n)) for n, folder in enumerate(sent)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = [outcome for outcome in outcomes if outcome.startswith("upload/")]
    assert len(kept) == 1, outcomes
    assert sum("contradicts" in outcome for outcome in outcomes) == len(sent) - 1
    run = history.run(RUN)
    assert run.key == kept[0]
    assert whole(run)
