"""Findings with an owner, a state and a date, on both databases; closed with a difference."""

import pytest

from profiler_core.errors import BadInput
from profiler_core.model.review import Difference
from profiler_core.store import history
from profiler_core.store.history.review_tasks import close_with
from tests.store.history.test_reviews import FINDING, begun

ABOUT = (1, "graph_breaks")
CLOSED = Difference("c1.default", "c2.default", 2e6, 1.5e6, (4e5, 6e5), 8e5, True)


def assign(review_id, version=0, **words):
    words = {"owner": "Bob", "state": "doing", "due": "2026-12-01", "person": "Ada"} | words
    history.assign_finding(review_id, ABOUT, version, **words)


def task(review_id):
    return history.review(review_id).task_of(FINDING)


def test_a_finding_is_assigned_and_closed_with_the_difference(home):
    review_id = begun(home)
    assert task(review_id) is None
    assign(review_id)
    assigned = task(review_id)
    assert (assigned.owner, assigned.state, assigned.due) == ("Bob", "doing", "2026-12-01")
    close_with(review_id, ABOUT, 1, CLOSED, person="Bob")
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
        close_with(review_id, ABOUT, 0, CLOSED, person="Cyn")
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
    close_with(second, ABOUT, 1, CLOSED, person="Ada")
    assert {row.review_id for row in history.assigned_findings()} == {first, third}
    (done,) = history.assigned_findings(["done"])
    assert (done.review, done.title, done.difference) == ("Later", FINDING.title, CLOSED)


def test_a_deleted_review_takes_its_tasks_along(home):
    review_id = begun(home)
    assign(review_id)
    history.delete_review(review_id, person="Ada")
    assert history.assigned_findings() == ()
