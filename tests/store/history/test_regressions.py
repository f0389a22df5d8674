"""Runs that became slower, on both databases: kept once, and told once by each channel."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from profiler_core.store import history
from profiler_core.store.history import regressions
from profiler_core.store.history.regressions import MOST_TRIES
from tests.store.history.samples import redated_copy

_HOURS = itertools.count()
START = datetime.now(UTC) - timedelta(days=2)


def recorded(home, capture_id, *, at=None, **words):
    moment = at or (START + timedelta(hours=next(_HOURS))).isoformat()
    return history.record(redated_copy(home, capture_id, created_at=moment, **words))


def told(channel="webhook"):
    return [each.run.run_id for each, _ in history.waiting_notices([channel])]


def test_a_run_that_became_slower_is_kept_with_the_numbers_of_both(home):
    recorded(home, "a")
    recorded(home, "b", slower=1.01)
    recorded(home, "c", slower=1.5)
    (regression,) = history.newest_regressions()
    assert (regression.run.run_id, regression.before.run_id) == ("c.default", "b.default")
    difference = regression.difference
    assert difference.after_ns / difference.before_ns == pytest.approx(1.5 / 1.01, rel=1e-3)
    assert difference.gained_ns[0] < difference.before_ns - difference.after_ns < 0
    assert difference.gained_ns[1] < 0
    assert history.entries(action="regression")[0].subject == "c.default"


def test_what_is_faster_another_question_or_old_is_none(home):
    recorded(home, "a", slower=1.5)
    recorded(home, "b")  # faster
    recorded(home, "c", slower=3.0, workload="another")
    recorded(home, "d", slower=3.0, variant="eager")
    recorded(home, "e", slower=3.0, at="2026-01-01T00:00:00Z")  # imported later
    recorded(home, "f", slower=3.0, status="failed")
    assert history.newest_regressions() == ()


def test_the_newest_is_held_against_the_run_before_it_in_whatever_order_they_come(home):
    """Trends drew +50 % at the newest run, and said that none became slower."""
    first, second, third = ((START + timedelta(hours=n)).isoformat() for n in (-3, -2, -1))
    recorded(home, "c", at=third, slower=1.5)
    assert history.newest_regressions() == ()
    recorded(home, "a", at=first, slower=1.48)  # as slow
    assert history.newest_regressions() == ()
    recorded(home, "b", at=second)
    (regression,) = history.newest_regressions()
    assert (regression.run.run_id, regression.before.run_id) == ("c.default", "b.default")
    difference = regression.difference
    assert difference.after_ns / difference.before_ns == pytest.approx(1.5, rel=1e-3)
    assert told() == ["c.default"]


def test_recording_it_again_and_the_run_before_in_the_trash_change_nothing(home):
    recorded(home, "a")
    directory = redated_copy(home, "b", created_at=START.isoformat(), slower=2.0)
    recorded(home, "c", slower=2.0)
    history.record(directory)
    history.delete_run("a.default")
    assert [each.before for each in history.newest_regressions()] == [None]
    history.delete_run("c.default")
    assert history.newest_regressions() == ()
    assert told() == []


def test_each_channel_is_told_once(home):
    recorded(home, "a")
    recorded(home, "b", slower=2.0)
    assert told() == ["b.default"] and told("mail") == ["b.default"]
    assert history.claim_notice("b.default", "webhook")
    assert not history.claim_notice("b.default", "webhook")  # another process is at it
    assert told() == [] and told("mail") == ["b.default"]
    history.note_notice("b.default", "webhook")
    (entry,) = history.entries(action="notice")
    assert (entry.subject, entry.detail["state"]) == ("b.default", "sent")
    recorded(home, "c")
    assert told("mail") == ["b.default"] and told() == []


def test_what_cannot_be_told_is_tried_again_and_given_up_in_the_end(home, monkeypatch):
    moments = itertools.count()
    clock = START + timedelta(days=3)

    def later():
        return (clock + timedelta(days=next(moments))).strftime("%Y-%m-%dT%H:%M:%SZ")

    recorded(home, "a")
    recorded(home, "b", slower=2.0)
    monkeypatch.setattr(regressions, "now", later)
    for _ in range(MOST_TRIES):
        assert told() == ["b.default"]
        assert history.claim_notice("b.default", "webhook")
        history.note_notice("b.default", "webhook", "It answers 500.")
    assert told() == []
    assert not history.claim_notice("b.default", "webhook")
    (entry,) = history.entries(action="notice")
    assert entry.detail["state"] == "given up" and entry.detail["problem"] == "It answers 500."


def test_nobody_is_told_of_old_runs(home):
    recorded(home, "a", at="2026-01-01T00:00:00Z")
    recorded(home, "b", at="2026-01-02T00:00:00Z", slower=2.0)
    assert len(history.newest_regressions()) == 1
    assert told() == []
