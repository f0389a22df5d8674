"""Baselines and findings in the browser: the right is asked for when the button is pressed."""

import pytest
import streamlit as st

from profiler_core.model.review import ReviewFinding, ReviewSide
from profiler_core.store import history
from profiler_core.ui.review import remeasure
from profiler_core.ui.review import task as task_module
from profiler_core.ui.runs import baseline as baseline_module
from tests.attack.conftest import RUNNER, VIEWER, Server
from tests.store.history.samples import redated_copy

TEAM = f"""
[team]
viewers = ["{VIEWER}"]
runners = ["{RUNNER}"]
"""
FINDING = ReviewFinding(1, "graph_breaks", "3 breaks", "", "", "", "", "", "")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What widgets of a page hold."""
    held: dict[str, object] = {"fs_bl_name_x": "main", "fs_bl_note_x": ""}
    monkeypatch.setattr(st, "session_state", held)
    monkeypatch.setattr(st, "toast", lambda *_: None)
    return held


def test_only_who_may_mark_runs_sets_or_forgets_a_baseline(server: Server, home, session) -> None:
    run = history.record(redated_copy(home, "c1"))
    server.is_at("127.0.0.1", TEAM, VIEWER)
    baseline_module._keep(run.key, "x")
    assert history.baselines() == ()
    server.is_at("127.0.0.1", TEAM, RUNNER)
    baseline_module._keep(run.key, "x")
    assert session["fs_bl_kept_x"] == 1  # of which the next popover is another one, closed
    (baseline,) = history.baselines()
    assert (baseline.name, baseline.run_id) == ("main", "c1.default")
    server.is_at("127.0.0.1", TEAM, VIEWER)
    baseline_module._forget("main")
    assert history.baselines() == (baseline,)
    assert [entry.action for entry in history.entries(subject="main")] == ["baseline"]


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>", "a\nb</script>", "../x\0", ""])
def test_a_hostile_name_is_no_name_of_a_baseline(server: Server, home, session, name) -> None:
    run = history.record(redated_copy(home, "c1"))
    server.is_at("127.0.0.1", TEAM, RUNNER)
    session["fs_bl_name_x"] = name
    baseline_module._keep(run.key, "x")
    assert all("<" not in kept.name and "\0" not in kept.name for kept in history.baselines())


def test_who_has_no_role_assigns_no_finding(server: Server, home, session) -> None:
    review_id = history.begin_review(
        "T", [ReviewSide("a", None, "a"), ReviewSide("b", None, "b")], [FINDING], person="ada"
    )
    session.update(owner="mallory", somebody="", state="done", due=None)
    keys = {name: name for name in ("owner", "somebody", "state", "due")}
    server.is_at("127.0.0.1", TEAM, "nobody@elsewhere.org")
    task_module._assign(review_id, FINDING, 0, keys)
    assert history.review(review_id).tasks == ()
    server.is_at("127.0.0.1", TEAM, VIEWER)  # viewers write and sign reviews
    task_module._assign(review_id, FINDING, 0, keys)
    (task,) = history.review(review_id).tasks
    assert (task.owner, task.state) == ("mallory", "done")
    assert history.entries(action="assign")[0].person == task.changed_by != "mallory"


@pytest.mark.parametrize(
    "words",
    [
        {"workload": "another"},
        {"created_at": "2026-11-01T00:00:00Z"},  # before the finding
        {"status": "failed", "measurement": None},
        {"measurement": None},
        None,  # none of the history
    ],
)
def test_a_finding_is_closed_with_no_run_that_was_not_offered(
    server: Server, home, session, words
) -> None:
    """The browser says which one was chosen from the list."""
    history.record(redated_copy(home, "c1", created_at="2026-11-03T00:00:00Z"))
    later = history.record(redated_copy(home, "c2", created_at="2026-11-04T00:00:00Z", slower=0.5))
    wrong = "c1.default"  # the finding's own
    if words is not None:
        wrong = history.record(
            redated_copy(home, "c3", **{"created_at": "2026-11-05T00:00:00Z", **words})
        ).run_id
    sides = [ReviewSide("run/c1/default", "c1.default", side) for side in ("eager", "default")]
    review_id = history.begin_review("T", sides, [FINDING], person="ada")
    server.is_at("127.0.0.1", TEAM, RUNNER)
    for forged in (wrong, "no-such-run", "c2.default\0", "../c2.default", "c%"):
        remeasure._close(review_id, FINDING.reference, 0, forged)
        assert session["fs_rv_problem"]
        assert history.review(review_id).task_of(FINDING) is None
    remeasure._close(review_id, FINDING.reference, 0, later.run_id)
    task = history.review(review_id).task_of(FINDING)
    assert task is not None and task.difference is not None
    assert (task.state, task.difference.after_run_id) == ("done", "c2.default")
