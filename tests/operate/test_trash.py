"""What is deleted can be put back for 30 days, whole, and no wrong clock ends that."""

import json
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from profiler_core.cli.main import main
from profiler_core.errors import BadInput
from profiler_core.owner_file import write_owner
from profiler_core.store import history, owners
from profiler_core.store.deletion import delete
from profiler_core.store.history import Rules, database
from profiler_core.store.history.artifacts import artifacts
from profiler_core.store.history.clock import elapsed
from profiler_core.store.history.tables import deletions
from profiler_core.store.history.trash import empty_old
from profiler_core.store.history.trash_list import deletions_of
from tests.everything import comparisons
from tests.store.history.samples import redated_copy

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def written(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def capture(home, set_clock):
    """A capture of two runs that a person made, one of them tagged."""
    set_clock(written(NOW))
    for variant in ("eager", "default"):
        history.record(redated_copy(home, "c1", variant=variant, created_at=written(NOW)))
    write_owner(home / "runs" / "c1", "Ada")
    history.tag("c1.default", "weekly")
    return home / "runs" / "c1"


def files_of(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def only_group():
    (group,) = (g for g in comparisons() if g.origin != "sample")
    return group


def test_a_capture_comes_back_as_it_was(capture):
    before, runs = files_of(capture), history.runs()
    deletion_id = delete(only_group(), person="Ada")
    assert not capture.exists()
    assert history.runs() == ()
    assert history.n_runs() == 0
    assert not any(history.choices().values())
    assert history.reconcile() == history.Reconciled((), ())
    (lying,) = history.trash_contents()
    assert (lying.title, lying.run_ids, lying.person) == (
        "breaky", ("c1.default", "c1.eager"), "Ada",
    )  # fmt: skip
    assert lying.n_bytes == sum(map(len, before.values()))
    history.restore(deletion_id, person="Bob")
    assert files_of(capture) == before
    assert history.runs() == runs
    assert history.trash_contents() == ()
    assert not list((capture.parent / ".trash").iterdir())
    last = history.entries(subject="c1.eager")[:2]
    assert [(e.action, e.person) for e in last] == [("restore", "Bob"), ("delete", "Ada")]


def test_runs_that_go_and_come_one_by_one(capture):
    before = files_of(capture)
    history.delete_run("c1.eager")
    history.delete_run("c1.default")  # the capture's folder goes with it
    assert not capture.exists()
    history.restore("c1.eager")
    assert [run.run_id for run in history.runs()] == ["c1.eager"]
    history.restore("c1.default")
    assert files_of(capture) == before


def test_what_was_never_recorded_comes_back_too(home):
    folder = redated_copy(home, "c1").parent
    before = files_of(folder)
    deletion_id = delete(only_group())
    assert not folder.exists()
    assert history.trash_contents()[0].run_ids == ()
    history.restore(deletion_id)
    assert files_of(folder) == before
    assert [e.action for e in history.entries(subject="breaky")] == ["restore"]
    assert [e.action for e in history.entries(subject="run/c1")] == ["delete"]


def test_nothing_is_put_back_over_another_run(capture):
    history.delete_run("c1.default")
    other = redated_copy(capture.parents[1], "c1", run_id="other")
    before = files_of(other)
    with pytest.raises(BadInput, match="lies there again"):
        history.restore("c1.default")
    assert files_of(other) == before
    other.rename(capture / "renamed")
    history.restore("c1.default")
    assert history.run("c1.default").tags == ("weekly",)


def test_a_deleted_run_is_not_there_for_anybody(capture):
    history.delete_run("c1.default")
    for deed in (
        lambda: history.run("c1.default"),
        lambda: history.set_baseline("main", "c1.default"),
        lambda: history.tag("c1.default", "again"),
    ):
        with pytest.raises(BadInput):
            deed()
    with pytest.raises(BadInput, match=r"lies in the trash") as raised:
        history.record(redated_copy(capture.parents[1] / "elsewhere", "c1"))
    assert "runs restore c1.default" in raised.value.remedy


def test_an_import_of_the_very_files_takes_it_out_of_the_trash(capture, tmp_path):
    aside = shutil.copytree(capture, tmp_path / "elsewhere" / "c1")
    history.delete_run("c1.default")
    assert history.record(aside / "default").tags == ("weekly",)
    assert history.trash_contents() == ()
    delete(only_group())  # both, so that one of them alone does not bring back the other
    with pytest.raises(BadInput, match="lies in the trash"):
        history.record(aside / "default")
    assert history.runs() == ()


def test_what_lies_in_the_trash_counts_for_its_owner(home, set_clock):
    (home / "uploads").mkdir(parents=True)
    folder = redated_copy(home, "u1").parent
    folder.rename(home / "uploads" / "u1")
    write_owner(home / "uploads" / "u1", "Ada")
    history.reconcile()
    used = owners.used_bytes("Ada")
    deletion_id = delete(only_group(), person="Bob")
    assert used < owners.used_bytes("Ada") < used + 1000  # and who it is of
    history.restore(deletion_id)
    assert owners.used_bytes("Ada") == used
    history.empty(delete(only_group(), person="Bob"))
    assert owners.used_bytes("Ada") == 0
    with pytest.raises(BadInput, match="does not lie in the trash"):
        history.restore(deletion_id)


def test_files_that_retention_took_come_back_and_take_nobodys_quota(capture, home):
    history.untag("c1.default", "weekly")
    plan = history.planned(Rules(keep_days=1), at=NOW + timedelta(days=9))
    reasons = {removal.run.run_id: removal.reason for removal in plan.removals}
    assert history.delete_files([r.run for r in plan.removals], reasons=reasons) == 2
    assert not capture.exists()
    assert history.run("c1.default").files_deleted_at is not None
    (lying,) = history.trash_contents()
    assert (lying.kind, lying.reason) == ("files", "it is 9 days old (keep_days = 1)")
    assert not list((home / "runs" / ".trash").glob("*/owner.json"))
    history.restore(lying.deletion_id)
    assert history.run("c1.default").files_deleted_at is None
    assert history.has_files(history.run("c1.default"))
    history.empty(history.in_trash(history.delete_run("c1.default")).deletion_id)
    assert [run.run_id for run in history.runs()] == ["c1.eager"]


def test_emptying_a_retention_keeps_the_numbers(capture):
    history.untag("c1.default", "weekly")
    history.delete_files(history.runs())
    before = history.runs()
    history.empty("c1.default")
    assert history.runs() == before
    assert before[0].files_deleted_at is not None
    assert not list(capture.parent.glob(".trash/*"))


def test_artifacts_go_and_come_along(home, tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", (tmp_path / "kept").as_uri())
    run = history.record(redated_copy(home, "c1"))
    history.delete_run("c1.default")

    def seen_elsewhere():
        monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "other"))
        database.close_all()
        history.reconcile()
        seen = [run.run_id for run in history.runs()]
        (tmp_path / "other" / "history.sqlite3").unlink()
        monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
        database.close_all()
        return seen

    assert seen_elsewhere() == []
    history.restore("c1.default")
    assert seen_elsewhere() == ["c1.default"]
    history.empty(history.delete_run("c1.default"))
    assert artifacts().names() == ()
    assert not (tmp_path / "kept" / run.artifact).exists()
    history.record(redated_copy(tmp_path / "again", "c1"))
    assert artifacts().names() == (run.artifact,)


def days_left(at):
    with history.reading() as connection:
        (lying,) = deletions_of(connection, select(deletions), at=written(at))
    return lying.days_left


def test_it_goes_after_thirty_days_of_use(capture, set_clock, home):
    history.delete_run("c1.default")
    for day in range(1, 30):
        set_clock(written(NOW + timedelta(days=day)))
        history.note("Ada", "sign in", "")
        assert empty_old() == ()
    set_clock(written(NOW + timedelta(days=30)))
    assert [d.run_ids for d in empty_old()] == [("c1.default",)]
    assert history.trash_contents() == ()
    assert [e.action for e in history.entries(subject="c1.default")][:1] == ["delete for good"]


def test_the_setting_says_for_how_long(capture, set_clock, home):
    (home / "settings.toml").write_text("keep_trash_days = 2\n")
    history.delete_run("c1.default")
    assert days_left(NOW + timedelta(days=1)) == pytest.approx(1)
    set_clock(written(NOW + timedelta(days=2)))
    history.reconcile()
    assert history.trash_contents() == ()
    (home / "settings.toml").write_text("keep_trash_days = 0\n")
    with pytest.raises(BadInput, match="keep_trash_days is 0"):
        empty_old()


@pytest.mark.parametrize("jump", [timedelta(days=366), timedelta(days=40), timedelta(days=-366)])
def test_a_clock_that_jumps_empties_nothing(capture, set_clock, jump):
    history.delete_run("c1.default")
    for _ in range(2):  # what is noted by the wrong clock makes it no older
        set_clock(written(NOW + jump))
        assert empty_old() == ()
        history.note("Ada", "sign in", "")
    set_clock(written(NOW + timedelta(days=1)))  # right again
    assert empty_old() == ()
    assert 20 < days_left(NOW + timedelta(days=1)) <= 30


@pytest.mark.parametrize("jump", [timedelta(days=366), timedelta(days=-20_000)])
def test_nor_does_one_that_was_wrong_when_it_was_deleted(capture, set_clock, jump):
    """1971, when the battery was empty: by dates alone this would be old at once."""
    for day in range(0, 60, 5):
        set_clock(written(NOW + timedelta(days=day)))
        history.note("Ada", "sign in", "")
    set_clock(written(NOW + jump))
    history.delete_run("c1.default")
    set_clock(written(NOW + timedelta(days=60)))
    assert empty_old() == ()
    assert 20 < days_left(NOW + timedelta(days=60)) <= 30


def test_elapsed_counts_no_step_back_and_of_none_more_than_a_week():
    assert elapsed(["2026-01-01", "2026-01-03", "2026-01-02", "2026-01-04"]).days == 4
    assert elapsed(["2026-01-01", "2027-01-01"]).days == 7
    assert elapsed(["2026-01-01"]).days == 0


def test_the_command_line_lists_puts_back_and_empties(capture, capsys):
    assert main(["runs", "delete", "c1.default"]) == 0
    assert "For 30 days: runs restore RUN_ID." in capsys.readouterr().out
    assert main(["runs", "trash"]) == 0
    assert "c1.default" in capsys.readouterr().out
    assert main(["runs", "restore", "c1.default"]) == 0
    assert "Put back: c1.default." in capsys.readouterr().out
    assert main(["runs", "restore", "c1.default"]) == 2
    assert "does not lie in the trash" in capsys.readouterr().err
    main(["runs", "delete", "c1.default"])
    capsys.readouterr()
    assert main(["runs", "trash", "--empty", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["emptied"] is True
    assert [d["run_ids"] for d in answer["deletions"]] == [["c1.default"]]
    assert main(["runs", "trash"]) == 0
    assert "Nothing lies in the trash." in capsys.readouterr().out
