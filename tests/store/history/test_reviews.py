"""Reviews, on both databases: what is kept, who loses nothing, and what a review protects."""

import multiprocessing
import os

import pytest

from profiler_core.errors import BadInput
from profiler_core.model.review import ReviewFinding, ReviewSide
from profiler_core.store import history
from tests.store.history.samples import redated_copy

FINDING = ReviewFinding(1, "graph_breaks", "3 graph breaks", "In f.", "Move it.", "0.4 ms",
                        "per step", "compilation", "by time")  # fmt: skip


def begun(home, *, person="Ada", title="Week 47 · resnet50"):
    for variant in ("eager", "default"):
        history.record(redated_copy(home, "c1", variant=variant))
    sides = [
        ReviewSide("run/c1/eager", "c1.eager", "eager", "breaky"),
        ReviewSide("run/c1/default", "c1.default", "default", "breaky", headline="Faster."),
    ]
    return history.begin_review(title, sides, [FINDING], person=person)


def test_a_review_comes_back_whole(home):
    review_id = begun(home)
    history.add_note(review_id, "That is known.", person="Bob", finding="graph_breaks", position=1)
    history.add_note(review_id, "Good week.", person="Ada")
    history.change_review(
        review_id, 1, title="Renamed", summary="All well.", verdict="accept", person="Bob"
    )
    history.sign_off(review_id, "accept", person="Ada", note="fine")
    found = history.review(review_id)
    assert (found.title, found.summary, found.verdict) == ("Renamed", "All well.", "accept")
    assert (found.person, found.changed_by, found.version) == ("Ada", "Bob", 2)
    assert [side.label for side in found.sides] == ["eager", "default"]
    assert found.findings == (FINDING,)
    assert [(n.person, n.text) for n in found.notes_on(FINDING)] == [("Bob", "That is known.")]
    assert [n.text for n in found.general_notes] == ["Good week."]
    (signed,) = found.sign_offs
    assert (signed.person, signed.decision, signed.note) == ("Ada", "accept", "fine")
    actions = [entry.action for entry in history.entries(subject=review_id)]
    assert actions == ["sign off", "verdict", "note", "note", "review"]


def test_a_change_on_an_older_version_is_refused_and_changes_nothing(home):
    review_id = begun(home)
    texts = {"title": "T", "verdict": None}
    history.change_review(review_id, 1, **texts, summary="Bob's", person="Bob")
    with pytest.raises(history.ReviewChanged, match="Bob changed this review while you wrote"):
        history.change_review(review_id, 1, **texts, summary="Ada's", person="Ada")
    assert history.review(review_id).summary == "Bob's"
    history.change_review(review_id, 2, **texts, summary="Both", person="Ada")
    assert history.review(review_id).summary == "Both"


def test_findings_keep_the_words_of_their_time(home):
    review_id = begun(home)
    newer = ReviewFinding(1, "graph_breaks", "2 graph breaks", "", "", "", "", "", "")
    other = ReviewFinding(1, "idle_gpu", "Idle", "", "", "", "", "", "")
    history.add_findings(review_id, [newer, other], person="Ada")
    titles = {finding.key: finding.title for finding in history.review(review_id).findings}
    assert titles == {"graph_breaks": "3 graph breaks", "idle_gpu": "Idle"}


def test_only_its_writer_takes_a_note_back(home):
    review_id = begun(home)
    history.add_note(review_id, "Mine.", person="Ada")
    (note,) = history.review(review_id).notes
    with pytest.raises(BadInput, match="written by someone else"):
        history.delete_note(review_id, note.note_id, person="Bob")
    history.delete_note(review_id, note.note_id, person="Ada")
    assert history.review(review_id).notes == ()


def test_signing_again_replaces_ones_own_name_only(home):
    review_id = begun(home)
    history.sign_off(review_id, "accept", person="Ada")
    history.sign_off(review_id, "needs work", person="Bob")
    history.sign_off(review_id, "regression", person="Ada", note="look at memory")
    found = {s.person: s.decision for s in history.review(review_id).sign_offs}
    assert found == {"Ada": "regression", "Bob": "needs work"}


def test_heads_are_filtered(home):
    first = begun(home)
    second = history.begin_review(
        "Spike 100%", [ReviewSide("sample/x/eager", None, "eager", "bert")], [], person="Bob"
    )
    history.change_review(second, 1, title="Spike 100%", summary="", verdict="regression",
                          person="Bob")  # fmt: skip
    history.sign_off(first, "accept", person="Cyn")

    def ids(**words):
        return {head.review_id for head in history.review_heads(history.ReviewFilter(**words))}

    assert ids() == {first, second}
    assert ids(verdict="open") == {first}
    assert ids(verdict="regression") == {second}
    assert ids(person="Cyn") == {first}
    assert ids(person="Bob") == {second}
    assert ids(workload="bert") == {second}
    assert ids(words="47 WEEK") == {first}
    assert ids(words="100%") == {second}
    assert ids(words="_") == set()
    assert history.review_of("Week 47 · resnet50", ["c1.eager", "c1.default"]) == first
    assert history.review_of("Week 47 · resnet50", ["c1.eager"]) is None


def test_a_reviewed_run_stays_until_the_review_goes(home):
    review_id = begun(home)
    with pytest.raises(BadInput, match="part of the review"):
        history.delete_run("c1.default")
    history.delete_review(review_id, person="Ada")
    history.delete_run("c1.default")
    with pytest.raises(BadInput, match="no review"):
        history.review(review_id)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"title": "  "}, "needs a title"),
        ({"verdict": "splendid"}, "no verdict"),
        ({"person": " "}, "A name is required"),
        ({"summary": "x" * 20_001}, "20000 is the most"),
    ],
)
def test_nonsense_is_refused_in_words(home, change, words):
    review_id = begun(home)
    said = {"title": "T", "summary": "", "verdict": None, "person": "Ada", **change}
    with pytest.raises(BadInput, match=words):
        history.change_review(review_id, 1, **said)
    assert history.review(review_id).version == 1


def write(number, review_id, barrier, environment):
    """One reviewer: a note, a name, and a try to change the text that all of them edit."""
    os.environ.update(environment)
    barrier.wait()
    who = f"reviewer {number}"
    history.add_note(review_id, f"note {number}", person=who)
    history.sign_off(review_id, "accept", person=who)
    while True:
        now = history.review(review_id)
        text = f"{now.summary}{number};"
        try:
            history.change_review(
                review_id, now.version, title="T", summary=text, verdict=None, person=who
            )
            return
        except history.ReviewChanged:
            continue  # as a person does: look, and save again


def test_eight_reviewers_at_once_lose_nothing(home):
    n = 8
    review_id = begun(home)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["profiler_core.store.history", "psycopg"])
    barrier = context.Barrier(n)
    people = [
        context.Process(target=write, args=(k, review_id, barrier, dict(os.environ)))
        for k in range(n)
    ]
    for one in people:
        one.start()
    for one in people:
        one.join(120)
    assert [one.exitcode for one in people] == [0] * n
    found = history.review(review_id)
    assert {note.text for note in found.notes} == {f"note {k}" for k in range(n)}
    assert {signed.person for signed in found.sign_offs} == {f"reviewer {k}" for k in range(n)}
    assert sorted(found.summary.strip(";").split(";")) == sorted(str(k) for k in range(n))
    assert found.version == n + 1
