"""Later runs of a workload, and what a step gained: with all that was measured where it is here."""

import shutil

import pytest

from profiler_core.errors import BadInput
from profiler_core.store import history
from profiler_core.store.history import places
from tests.store.history.samples import redated_copy


def recorded(home, capture_id, day, **words):
    return history.record(
        redated_copy(home, capture_id, created_at=f"2026-11-{day:02}T00:00:00Z", **words)
    )


def test_later_runs_of_the_question_come_the_same_variant_first(home):
    recorded(home, "a", 3)
    recorded(home, "b", 4)
    recorded(home, "c", 5, variant="eager")
    recorded(home, "d", 6)
    recorded(home, "e", 1)  # earlier
    recorded(home, "f", 7, workload="another")
    recorded(home, "g", 7, status="failed")
    recorded(home, "a", 3, variant="eager")  # of the same capture
    ids = [run.run_id for run in history.later_runs("a.default")]
    assert ids == ["d.default", "b.default", "c.eager"]
    history.delete_run("d.default")
    assert [run.run_id for run in history.later_runs("a.default")] == ["b.default", "c.eager"]
    with pytest.raises(BadInput, match="no run"):
        history.later_runs("z")


def test_a_finding_can_be_held_against_a_trial_of_an_experiment(home):
    """*Try it* left nothing behind that could close the finding it was pressed at."""
    first = recorded(home, "a", 3)
    spec = {**first.spec, "experiment": "20261104-101500-try-breaky-1a2b"}
    recorded(home, "trial", 4, slower=0.5, spec=spec)
    recorded(home, "b", 5)
    assert [run.run_id for run in history.later_runs("a.default")] == ["b.default", "trial.default"]
    difference = history.difference_between("a.default", "trial.default")
    assert difference.after_ns / difference.before_ns == pytest.approx(0.5, rel=1e-3)


def test_what_a_step_gained_is_told_with_its_interval_also_without_the_files(home):
    recorded(home, "a", 3)
    after = recorded(home, "b", 4, slower=0.5)
    difference = history.difference_between("a.default", "b.default")
    assert difference.after_ns / difference.before_ns == pytest.approx(0.5, rel=1e-3)
    low, high = difference.gained_ns
    assert 0 < low < difference.before_ns - difference.after_ns < high
    shutil.rmtree(places.directory_of_key(after.key))
    again = history.difference_between("a.default", "b.default")
    assert (again.before_ns, again.after_ns) == (difference.before_ns, difference.after_ns)


def test_a_run_that_was_not_timed_tells_nothing(home):
    recorded(home, "a", 3)
    recorded(home, "b", 4, measurement=None)
    assert history.difference_between("a.default", "b.default") is None
