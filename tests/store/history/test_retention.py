"""What may go, and what never does."""

import json
import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from profiler_core.errors import NothingToAnalyse
from profiler_core.model.experiment import Batch, Experiment
from profiler_core.store import history
from profiler_core.store.experiments import held_by_one, write_experiment
from profiler_core.store.history import Rules, audit, recording
from tests.store.history.samples import outdated, redated_copy

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def captures(home, monkeypatch):
    """Four captures of one workload and one of another; n days old, two runs each."""
    monkeypatch.setattr(recording, "now", lambda: NOW.strftime("%Y-%m-%dT%H:%M:%SZ"))
    for n in (0, 10, 20, 30):
        for variant in ("eager", "default"):
            moment = f"2026-{11 if n <= 20 else 10}-{21 - n % 30 if n <= 20 else 22:02d}T12:00:00Z"
            redated_copy(home, f"b{n}", variant=variant, created_at=moment)
    redated_copy(home, "other", sample="bert", created_at="2026-01-01T00:00:00Z")
    history.reconcile()
    return home


def gone(rules):
    return sorted({run.capture_id for run in outdated(rules, at=NOW)})


def test_without_a_rule_everything_stays(captures):
    assert gone(Rules()) == []


def test_the_newest_of_each_workload_stay(captures):
    assert gone(Rules(keep_captures=2)) == ["b20", "b30"]
    assert gone(Rules(keep_captures=1)) == ["b10", "b20", "b30"]
    assert gone(Rules(keep_captures=9)) == []


def test_the_young_stay(captures):
    assert gone(Rules(keep_days=15)) == ["b20", "b30", "other"]
    assert gone(Rules(keep_days=1000)) == []


def test_what_either_rule_keeps_stays(captures):
    assert gone(Rules(keep_captures=1, keep_days=15)) == ["b20", "b30"]


def test_a_capture_with_a_marked_run_stays_whole(captures):
    history.tag("b20.eager", "release")
    history.set_baseline("main", "b30.default")
    assert gone(Rules(keep_captures=1)) == ["b10"]


def test_files_go_and_numbers_stay(captures):
    going = outdated(Rules(keep_captures=3), at=NOW)
    assert {run.run_id for run in going} == {"b30.eager", "b30.default"}
    before = history.run("b30.default")
    assert history.delete_files(going) == 2
    assert not (captures / "runs" / "b30").exists()
    after = history.run("b30.default")
    assert after.metrics == before.metrics
    assert after.rounds == before.rounds
    assert after.files_deleted_at is not None
    assert not history.has_files(after)
    with pytest.raises(NothingToAnalyse, match="were deleted"):
        history.directory_of(after)
    assert outdated(Rules(keep_captures=3), at=NOW) == ()
    assert history.reconcile().recorded == ()
    assert audit.entries(subject="b30.default")[0].action == "retention"


def test_what_is_marked_in_the_last_moment_stays(captures):
    going = outdated(Rules(keep_captures=3), at=NOW)
    history.tag("b30.eager", "keep")
    history.set_baseline("main", "b30.default")
    assert history.delete_files(going) == 0
    assert (captures / "runs" / "b30" / "eager" / "run.json").is_file()


def let_run(directory):
    """Write into a copy of a run that this process still measures it."""
    record = json.loads((directory / "run.json").read_text()) | {"status": "running"}
    record["measurement"] |= {"pid": os.getpid(), "host": os.uname().nodename}
    (directory / "run.json").write_text(json.dumps(record))
    (directory / "heartbeat").touch()


def test_a_capture_that_is_still_measured_stays_whole(captures):
    """Its first variants are recorded by then."""
    going = outdated(Rules(keep_captures=2), at=NOW)
    let_run(redated_copy(captures, "b30", variant="reduce-overhead"))
    assert gone(Rules(keep_captures=2)) == ["b20"]
    assert history.delete_files(going) == 2  # not those of b30, which were to go before
    assert (captures / "runs" / "b30" / "eager" / "run.json").is_file()


def test_points_of_a_sweep_that_is_still_measured_stay(captures):
    sweep = {"name": "batch-size", "value": 1, "id": "s1"}
    redated_copy(captures, "p1", sample="bert", created_at="2026-01-02T00:00:00Z", sweep=sweep)
    redated_copy(captures, "p2", sample="bert", created_at="2026-01-03T00:00:00Z", sweep=sweep)
    history.reconcile()
    assert gone(Rules(keep_captures=1)) == ["b10", "b20", "b30", "other", "p1"]
    let_run(redated_copy(captures, "p3", sample="bert", sweep=sweep | {"value": 2}))
    assert gone(Rules(keep_captures=1)) == ["b10", "b20", "b30", "other"]


def test_captures_of_an_experiment_that_runs_stay(captures):
    out = captures / "runs"
    experiment = Experiment(
        experiment_id="20261123-101500-try-breaky-1a2b", title="breaky", workload="breaky",
        words=(), start=(), levers=(), budget_s=60.0, created_at="2026-11-23T10:15:00Z",
        batches=(Batch(phase="start", capture_id="b20", seconds=1.0, trials=()),),
    )  # fmt: skip
    write_experiment(out, experiment)
    with held_by_one(out, experiment.experiment_id):
        assert gone(Rules(keep_captures=1)) == ["b10", "b30"]
    assert gone(Rules(keep_captures=1)) == ["b10", "b20", "b30"]


def test_uploads_go_by_a_rule_of_their_own_from_the_day_they_came(captures):
    """Not from the day of the run: what is uploaded may be old already."""
    (captures / "uploads").mkdir()
    shutil.move(redated_copy(captures, "u1", created_at="2025-01-01T00:00:00Z").parent,
                captures / "uploads" / "u1")  # fmt: skip
    history.reconcile()
    rules = Rules(keep_uploads_days=30)
    now = datetime.now(UTC)
    assert outdated(rules, at=now) == ()
    later = outdated(rules, at=now + timedelta(days=31))
    assert {run.capture_id for run in later} == {"u1"}  # captures know no such rule
    with_both = outdated(Rules(keep_captures=9, keep_uploads_days=30),
                                 at=now + timedelta(days=31))  # fmt: skip
    assert {run.capture_id for run in with_both} == {"u1"}
