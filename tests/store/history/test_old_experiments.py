"""Experiments go when nothing of them is left, by the rule that captures go by."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from profiler_core.capture.spec import CaptureSpec
from profiler_core.cli.main import main
from profiler_core.experiments.request import new_experiment
from profiler_core.home import runs_directory
from profiler_core.model.experiment import Batch, Experiment
from profiler_core.store import history
from profiler_core.store.experiments import (
    FILE,
    caches_of,
    experiments,
    folder_of,
    held_by_one,
    write_experiment,
)
from profiler_core.store.history.reconciliation import reconcile

ID = "20260101-000000-try-x-{}"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    return tmp_path


def made(name: str, days_ago: int, state: str = "finished", capture_id: str = "gone") -> Experiment:
    experiment = new_experiment(
        CaptureSpec("customcnn"), budget_s=60.0, experiment_id=ID.format(name)
    )
    created = datetime.now(UTC) - timedelta(days=days_ago)
    batch = Batch(phase="start", capture_id=capture_id, seconds=1.0, trials=())
    changes = {"created_at": f"{created:%Y-%m-%dT%H:%M:%SZ}", "state": state, "batches": (batch,)}
    experiment = msgspec.structs.replace(experiment, **changes)
    write_experiment(runs_directory(), experiment)
    return experiment


def left() -> list[str]:
    return sorted(each.experiment_id[-4:] for each in experiments(runs_directory()))


def test_an_old_one_goes_once_its_captures_are_gone_and_comes_back(home: Path, capsys) -> None:
    made("aaaa", 20)
    made("bbbb", 3)
    made("cccc", 20, capture_id="here")
    (runs_directory() / "here").mkdir()
    made("dddd", -9)  # of a clock that was ahead
    rules = history.Rules(keep_days=10)
    assert history.planned(history.Rules(keep_captures=1)).experiments == ()
    plan = history.planned(rules)
    (old,) = plan.experiments
    assert (old.experiment_id, old.n_bytes > 100) == (ID.format("aaaa"), True)
    assert old.reason == "it is 20 days old, and its captures are gone (keep_days = 10)"
    assert main(["runs", "retention", "--keep-days", "10", "--dry-run"]) == 0
    assert old.reason in capsys.readouterr().out
    assert left() == ["aaaa", "bbbb", "cccc", "dddd"]
    history.apply(plan)
    assert left() == ["bbbb", "cccc", "dddd"]
    (deletion,) = history.trash_contents()
    assert deletion.reason == old.reason
    assert [entry.action for entry in history.entries(1)] == ["retention"]
    history.restore(deletion.deletion_id)
    assert "aaaa" in left()


def test_one_that_runs_stays(home: Path) -> None:
    experiment = made("aaaa", 20, state="running")
    with held_by_one(runs_directory(), experiment.experiment_id):
        assert history.planned(history.Rules(keep_days=10)).experiments == ()
    assert len(history.planned(history.Rules(keep_days=10)).experiments) == 1


@pytest.mark.parametrize(("days", "state", "goes"), [
    (8, "cancelled", True), (6, "cancelled", False), (8, "running", False),
])  # fmt: skip
def test_what_it_compiled_goes_after_a_week(home: Path, days: int, state: str, goes: bool) -> None:
    experiment = made("aaaa", days, state=state)
    caches = caches_of(runs_directory(), experiment.experiment_id)
    caches.mkdir()
    at = time.time() - days * 24 * 3600
    with held_by_one(runs_directory(), experiment.experiment_id):
        os.utime(folder_of(runs_directory(), experiment.experiment_id) / FILE, (at, at))
        reconcile()
    assert caches.exists() is not goes
    assert left() == ["aaaa"]
