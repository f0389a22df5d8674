"""Findings with an owner, a state and a date, on both databases; closed with a difference."""

import pytest

from profiler_core.errors import BadInput
from profiler_core.model.review import Difference
from profiler_core.store import history
from profiler_core.store.history import database, remeasured
from profiler_core.store.history.review_tasks import close_with
from tests.store.history.samples import redated_copy
from tests.store.history.test_crashes import killed_in_the_middle
from tests.store.history.test_reviews import FINDING, begun

ABOUT = (1, "graph_breaks")
CLOSED = Difference("c1.default", "c2.default", 2e6, 1.5e6, (4e5, 6e5), 8e5, True)


def assign(review_id, version=0, **words):
    words = {"owner": "Bob", "state": "doing", "due": "2026-12-01", "person": "Ada"} | words
    history.assign_finding(review_id, ABOUT, version, **words)


def close(review_id, version, person):
    with database.writing() as connection:
        close_with(connection, review_id, ABOUT, version, CLOSED, person=person)


def task(review_id):
    return history.review(review_id).task_of(FINDING)


def test_a_finding_is_assigned_and_closed_with_the_difference(home):
    review_id = begun(home)
    assert task(review_id) is None
    assign(review_id)
    assigned = task(review_id)
    assert (assigned.owner, assigned.state, assigned.due) == ("Bob", "doing", "2026-12-01")
    close(review_id, 1, "Bob")
    closed = task(review_id)
    assert (closed.state, closed.owner, closed.changed_by) == ("done", "Bob", "Bob")
    assert closed.difference == CLOSED
    assert closed.difference.realised == 0.625
    assign(review_id, 2, state="open")  # what is opened again has not been shown to be better
    assert task(review_id).difference is None
    actions = [entry.action for entry in history.entries(subject=review_id)]
    assert actions == ["assign", "close finding", "assign", "review"]
    assert history.entries(action="close finding")[0].detail["after"] == "c2.default"


def test_who_assigns_second_is_told_and_changes_nothing(home):
    review_id = begun(home)
    assign(review_id)
    with pytest.raises(history.ReviewChanged, match="Ada changed this finding meanwhile"):
        assign(review_id, owner="Cyn", person="Cyn")
    with pytest.raises(history.ReviewChanged):
        close(review_id, 0, "Cyn")
    assert (task(review_id).owner, task(review_id).state) == ("Bob", "doing")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"state": "later"}, "no state of a finding"),
        ({"due": "tomorrow"}, "no date"),
        ({"person": " "}, "A name is required"),
    ],
)
def test_what_is_no_assignment_is_refused(home, words, sentence):
    review_id = begun(home)
    with pytest.raises(BadInput, match=sentence):
        assign(review_id, **words)
    assert task(review_id) is None


def test_a_finding_that_is_not_in_the_review_is_refused(home):
    review_id = begun(home)
    with pytest.raises(BadInput, match="no review"):
        history.assign_finding(review_id, (2, "graph_breaks"), 0, owner="", state="open", due=None,
                               person="Ada")  # fmt: skip


def test_what_is_due_first_leads_the_list_of_all_reviews(home):
    first = begun(home)
    sides = history.review(first).sides
    second = history.begin_review("Later", sides, [FINDING], person="Ada")
    third = history.begin_review("Newest", sides, [FINDING], person="Ada")
    assign(second, due="2026-12-24")
    listed = [(row.review, row.owner, row.state) for row in history.assigned_findings()]
    assert listed[0] == ("Later", "Bob", "doing")
    assert {row.review_id for row in history.assigned_findings()} == {first, second, third}
    assert [row.review_id for row in history.assigned_findings(owner="Bob")] == [second]
    close(second, 1, "Ada")
    assert {row.review_id for row in history.assigned_findings()} == {first, third}
    (done,) = history.assigned_findings(["done"])
    assert (done.review, done.title, done.difference) == ("Later", FINDING.title, CLOSED)


def test_a_deleted_review_takes_its_tasks_along(home):
    review_id = begun(home)
    assign(review_id)
    history.delete_review(review_id, person="Ada")
    assert history.assigned_findings() == ()


def later(home):
    history.record(redated_copy(home, "c2", created_at="2026-11-23T12:00:00Z"))


def test_no_finding_is_closed_with_a_run_that_somebody_deletes_meanwhile(home, monkeypatch):
    review_id = begun(home)
    later(home)
    real = remeasured.difference_for

    def deleted_meanwhile(*words):
        difference = real(*words)
        history.delete_run("c2.default")
        return difference

    monkeypatch.setattr(remeasured, "difference_for", deleted_meanwhile)
    with pytest.raises(BadInput, match="no later run"):
        history.close_finding(review_id, ABOUT, 0, "c2.default", person="Bob")
    assert task(review_id) is None
    assert history.entries(action="close finding") == ()


CLOSE = """
import os, sys, signal
from pathlib import Path
ready, review_id, n_left = Path(sys.argv[1]), sys.argv[2], [int(sys.argv[3])]
from sqlalchemy import event
from sqlalchemy.engine import Engine
from profiler_core.store import history
history.review(review_id)
def stop_here():
    ready.write_text(str(os.getpid()))
    signal.pause()
@event.listens_for(Engine, "after_cursor_execute")
def executed(connection, cursor, statement, *_):
    if statement.lstrip().upper().startswith(("INSERT", "UPDATE")):
        n_left[0] -= 1
        if not n_left[0]:
            stop_here()
history.close_finding(review_id, (1, "graph_breaks"), 0, "c2.default", person="Bob")
stop_here()
"""


def test_a_kill_leaves_a_finding_closed_whole_or_not_at_all(home, tmp_path):
    """After each row that it writes: the task, the difference, the audit's entry."""
    review_id = begun(home)
    later(home)
    whole = []
    for number in (1, 2, 3, 100):
        killed_in_the_middle(CLOSE, tmp_path / f"ready-{number}", review_id, number)
        closed = task(review_id)
        whole.append(closed is not None)
        n_entries = len(history.entries(action="close finding"))
        assert n_entries == (1 if closed else 0)
        assert closed is None or (closed.state == "done" and closed.difference is not None)
    assert whole == [False, False, False, True]
