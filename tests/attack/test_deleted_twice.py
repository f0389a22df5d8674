"""Two who delete one thing at the same moment: it lies in the trash once, and comes back whole.

It lay there twice, the files in one and the run in both: put back from the other one it had no
files, and emptying the first took the files and the artifact of a run that everybody saw.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Barrier, Thread

import pytest

from profiler_core.errors import BadInput
from profiler_core.store import history
from profiler_core.store.history import database, trash
from tests.store.history.conftest import kind, new_database, postgres_url  # noqa: F401
from tests.store.history.samples import redated_copy

KEYS = ("run/c1/default", "run/c1/eager")


@pytest.fixture
def recorded(
    home: Path,
    kind: str,  # noqa: F811
    new_database: Callable[[str], str | None],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Path]:
    """A capture of two recorded runs, with artifacts."""
    url = new_database(kind)
    if url is not None:
        monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", url)
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", (home / "artifacts").as_uri())
    (home / "artifacts").mkdir()
    redated_copy(home, "c1")
    redated_copy(home, "c1", variant="eager")
    history.reconcile()
    yield home / "runs" / "c1"
    database.close_all()


def meanwhile(deed: Callable[[], object], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, when the function of this name is called for the first time."""
    real, waiting = getattr(trash, name), [deed]

    def called(*arguments: object, **more: object) -> object:
        if waiting:
            waiting.pop()()
        return real(*arguments, **more)

    monkeypatch.setattr(trash, name, called)


def whole() -> str:
    return trash.delete_at(KEYS, "run/c1", "c1", person="Ada")


def one() -> str:
    return trash.delete_run("c1.default", person="Ada")


def comes_back(folder: Path) -> None:
    """All that lies in the trash, and what is emptied then takes nothing away."""
    for deletion in history.trash_contents():
        history.restore(deletion.deletion_id)
    assert {run.run_id for run in history.runs()} == {"c1.default", "c1.eager"}
    assert all((folder / name / "run.json").is_file() for name in ("default", "eager"))


@pytest.mark.parametrize("deed", [whole, one])
def test_the_second_of_two_is_told(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, deed: Callable[[], str]
) -> None:
    meanwhile(deed, "now", monkeypatch)
    with pytest.raises(BadInput, match="deleted already"):
        deed()
    assert len(history.trash_contents()) == 1
    comes_back(recorded)


def test_a_folder_waits_for_a_run_in_it(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of both would lie with the folder."""

    def refused() -> None:
        with pytest.raises(BadInput, match="deleted already"):
            whole()

    meanwhile(refused, "_follow", monkeypatch)
    one()
    whole()
    comes_back(recorded)


def test_a_run_that_lay_there_twice_keeps_its_artifacts(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As older versions left it."""
    stored = sorted((recorded.parents[1] / "artifacts").rglob("*.zip"))
    assert stored
    first = whole()
    with database.writing() as connection:
        row = dict(connection.execute(trash.select(trash.deletions)).mappings().one())
        again = {**row, "deletion_id": "20260101T000000-00000000"}
        connection.execute(trash.insert(trash.deletions).values(**again))
        for run_id in ("c1.default", "c1.eager"):
            values = {"deletion_id": again["deletion_id"], "run_id": run_id}
            connection.execute(trash.insert(trash.deleted_runs).values(**values))
    history.restore(first)
    trash.empty(str(again["deletion_id"]))
    assert {run.run_id for run in history.runs()} == {"c1.default", "c1.eager"}
    assert sorted((recorded.parents[1] / "artifacts").rglob("*.zip")) == stored


def test_many_at_once(recorded: Path) -> None:
    start, n_deleted = Barrier(4), []

    def run() -> None:
        start.wait()
        with suppress(BadInput):
            n_deleted.append(whole())

    threads = [Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(n_deleted) == len(history.trash_contents()) == 1
    comes_back(recorded)


def test_a_mark_waits_while_it_is_asked_for(
    recorded: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a run becomes a baseline after it was asked, and lies in the trash as one."""

    class KilledError(BaseException):
        """As kill -9."""

    def killed() -> None:
        raise KilledError

    with monkeypatch.context() as patched:
        meanwhile(killed, "_follow", patched)
        with pytest.raises(KilledError):
            whole()
    history.record(redated_copy(home, "c1", variant="reduce-overhead"))
    refused = []

    def mark() -> None:
        try:
            history.set_baseline("main", "c1.reduce-overhead")
        except BadInput as error:
            refused.append(error.problem)

    marking = Thread(target=mark)

    def marked_now() -> None:
        marking.start()
        marking.join(0.5)

    meanwhile(marked_now, "note", monkeypatch)
    assert history.reconcile().problems == ()
    marking.join()
    assert refused == ["The history has no run “c1.reduce-overhead”."]
    assert history.baselines() == ()
