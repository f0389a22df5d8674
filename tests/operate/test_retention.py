"""Retention deletes what its rules say, counts uploads apart, and trusts no clock that jumped."""

import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from profiler_core.cli.main import main
from profiler_core.store import history
from profiler_core.store.history import Rules
from tests.apps import checked, opened, text_of
from tests.store.history.samples import outdated, redated_copy

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
YEARS_AHEAD = NOW + timedelta(days=5 * 365)


def written(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def captured(home, set_clock, name, moment):
    """A capture that was recorded when it was made."""
    set_clock(written(moment))
    history.record(redated_copy(home, name, created_at=written(moment)))


def upload(home, name, **changes):
    (home / "uploads").mkdir(exist_ok=True, parents=True)
    shutil.move(redated_copy(home, name, **changes).parent, home / "uploads" / name)


@pytest.fixture
def weekly(home, set_clock):
    """Captures of one workload on the eight days before NOW: c7 is the oldest, c0 of NOW."""
    for n in range(7, -1, -1):
        captured(home, set_clock, f"c{n}", NOW - timedelta(days=n))
    return home


def leaving(rules, at=NOW):
    return [run.capture_id for run in outdated(rules, at=at)]


def test_uploads_take_no_captures_place(home, quick_python):
    """By the command that a server runs when it starts."""
    for n in range(1, 4):
        redated_copy(home, f"c{n}", created_at=f"2024-01-0{n}T00:00:00Z")
    for n in range(50):
        upload(home, f"u{n}", created_at="2024-03-01T00:00:00Z")
    (home / "settings.toml").write_text("keep_captures = 50\n")
    done = subprocess.run(
        [quick_python, "-m", "profiler_core.store.history"],
        capture_output=True,
        check=True,
        timeout=300,
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    assert len(answer["value"]["recorded"]) == 53
    assert sorted(path.name for path in (home / "runs").iterdir()) == ["c1", "c2", "c3"]
    assert len(list((home / "uploads").glob("u*/default/run.json"))) == 50


def test_the_rules_of_captures_leave_uploads_alone(weekly):
    for n in range(3):
        upload(weekly, f"u{n}", created_at="2020-01-01T00:00:00Z")
    history.reconcile()
    assert leaving(Rules(keep_captures=6)) == ["c7", "c6"]
    assert leaving(Rules(keep_captures=1, keep_days=6)) == ["c7"]


def test_an_upload_of_a_tagged_capture_stays(home, set_clock):
    captured(home, set_clock, "c1", NOW)
    upload(home, "c2", variant="default", run_id="another", created_at=written(NOW))
    record = home / "uploads" / "c2" / "default" / "run.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"capture_id": "c1"}))
    history.reconcile()
    history.tag("c1.default", "release")
    rules = Rules(keep_uploads_days=1)
    assert leaving(rules, NOW + timedelta(days=10)) == []
    history.untag("c1.default", "release")
    assert leaving(rules, NOW + timedelta(days=10)) == ["c1"]


def test_one_marked_in_the_last_moment_keeps_its_capture(home, set_clock):
    for variant in ("eager", "default"):
        set_clock(written(NOW))
        history.record(
            redated_copy(home, "old", variant=variant, created_at="2024-01-01T00:00:00Z")
        )
    going = outdated(Rules(keep_days=1), at=NOW)
    assert len(going) == 2
    history.tag("old.eager", "release")
    assert history.delete_files(going) == 0
    assert (home / "runs" / "old" / "default" / "run.json").is_file()


def test_a_clock_years_ahead_makes_nothing_old(weekly):
    assert leaving(Rules(keep_days=5)) == ["c7", "c6"]
    assert leaving(Rules(keep_days=8), YEARS_AHEAD) == []


def test_nor_do_runs_that_it_records(weekly, set_clock):
    captured(weekly, set_clock, "late", YEARS_AHEAD)
    rules = Rules(keep_days=8)
    assert leaving(rules, YEARS_AHEAD + timedelta(hours=1)) == []
    # What was made shortly before the jump and is recorded after it is not old either.
    history.record(redated_copy(weekly, "between", created_at=written(NOW + timedelta(hours=1))))
    assert leaving(rules, YEARS_AHEAD + timedelta(hours=1)) == []


def test_what_a_clock_dated_ahead_takes_no_others_place_when_it_is_right_again(weekly, set_clock):
    for n in range(3):
        captured(weekly, set_clock, f"ahead{n}", YEARS_AHEAD + timedelta(hours=n))
    assert leaving(Rules(keep_captures=8)) == []
    assert leaving(Rules(keep_captures=7)) == ["c7"]
    assert leaving(Rules(keep_days=5)) == ["c7", "c6"]
    plan = history.planned(Rules(keep_captures=8), at=NOW)
    assert any("3 captures are dated in the future" in note for note in plan.notes)


def test_a_clock_of_1970_makes_nothing_old(weekly, set_clock):
    at = datetime(1970, 1, 1, 1, tzinfo=UTC)
    captured(weekly, set_clock, "first", at)
    assert leaving(Rules(keep_captures=1, keep_days=1), at) == []
    assert leaving(Rules(keep_captures=8)) == []  # the clock is right again


def test_after_a_silence_age_goes_on(weekly, set_clock):
    """Of a team that was away, or of a clock that stayed wrong: only the silence is left out."""
    for n in range(3):
        captured(weekly, set_clock, f"late{n}", YEARS_AHEAD + timedelta(days=30 * n))
    at = YEARS_AHEAD + timedelta(days=89)
    assert leaving(Rules(keep_days=90), at) == [f"c{n}" for n in range(7, 0, -1)]
    (note,) = history.planned(Rules(keep_days=90), at=at).notes
    assert "these 1824 days count towards no age" in note  # deeds are known by their day


def test_the_preview_says_what_would_go_and_why_and_removes_nothing(weekly, capsys):
    asked = ["runs", "retention", "--keep-captures", "6", "--dry-run"]
    assert main(asked) == 0
    out = capsys.readouterr().out
    workload = history.run("c7.default").workload
    assert f"c7.default: 7 captures of “{workload}” are newer (keep_captures = 6)." in out
    assert "c6.default: 6 captures" in out
    assert "c5.default" not in out
    assert "keep_captures = 6: 2 captures, 2 runs, " in out
    assert (weekly / "runs" / "c7" / "default" / "run.json").is_file()
    assert main([*asked, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [run["run_id"] for run in answer["runs"]] == ["c7.default", "c6.default"]
    assert "keep_captures = 6" in answer["runs"][0]["reason"]
    assert answer["n_deleted"] == 0
    assert [total["n_runs"] for total in answer["totals"]] == [2]
    with pytest.raises(SystemExit):
        main([*asked, "--apply"])


@pytest.mark.parametrize(
    "jump", [timedelta(days=366), timedelta(days=-366), timedelta(days=-20000)]
)
@pytest.mark.parametrize("origin", ["capture", "upload"])
def test_what_is_recorded_by_a_clock_that_jumped_stays(weekly, set_clock, jump, origin):
    """While the clock is wrong, and when it is right again."""
    rules = Rules(keep_captures=8, keep_days=8, keep_uploads_days=8)
    wrong = NOW + jump
    set_clock(written(wrong))
    if origin == "capture":
        history.record(redated_copy(weekly, "new", created_at=written(wrong)))
    else:
        upload(weekly, "new", created_at=written(wrong))
    history.reconcile()
    for at in (wrong + timedelta(hours=1), NOW + timedelta(hours=2)):
        set_clock(written(at))
        assert leaving(rules, at) == []
        assert leaving(Rules(keep_days=8), at) == []
    # It takes the place of none of the eight that were there before.
    assert leaving(Rules(keep_captures=8), NOW + timedelta(hours=2)) == []
    if jump < timedelta():
        (note,) = history.planned(rules, at=NOW + timedelta(hours=2)).notes[-1:]
        assert "recorded while the clock was set back" in note or "before 2017" in note


def test_the_plan_says_what_each_rule_takes(weekly):
    upload(weekly, "u1")
    history.reconcile()
    history.tag("c6.default", "release")
    later = NOW + timedelta(days=20)
    plan = history.planned(Rules(keep_captures=5, keep_days=3, keep_uploads_days=10), at=later)
    captures, uploads = history.totals(plan)
    n_bytes = sum(
        (weekly / "runs" / name / "default" / "run.json").stat().st_size for name in ("c7", "c5")
    )
    assert (captures.origin, captures.rule) == ("capture", "keep_captures = 5 and keep_days = 3")
    assert (captures.n_captures, captures.n_runs, captures.n_bytes) == (2, 2, n_bytes)
    assert (uploads.origin, uploads.rule, uploads.n_runs) == ("upload", "keep_uploads_days = 10", 1)
    assert plan.n_marked == 1


def test_an_admin_sees_the_plan_on_a_page_and_nothing_is_deleted(weekly):
    (weekly / "settings.toml").write_text("")
    app = opened("activity")
    assert "No rule is set, so nothing is deleted" in text_of(app)
    (weekly / "settings.toml").write_text("keep_captures = 6\nkeep_uploads_days = 5\n")
    history.tag("c6.default", "release")
    app = opened("activity")
    checked(app.button(key="fs_retention").click().run())
    by_rule, runs = (table.value for table in app.dataframe[1:])
    assert by_rule["Rule"].tolist() == ["keep_captures = 6"]
    assert by_rule["Captures or uploads"].tolist() == ["1"]
    assert runs["Run"].tolist() == ["c7.default"]
    text = text_of(app)
    assert "1 capture or upload is kept although a rule takes it: a run in it is tagged" in text
    assert "can be put back for 30 days" in text
    assert (weekly / "runs" / "c7" / "default" / "run.json").is_file()
