"""A review in a report: verdict, notes, names and the link, harmless whatever was written."""

from dataclasses import replace

import pytest

from profiler_core.model.review import (
    Difference,
    FindingTask,
    Review,
    ReviewFinding,
    ReviewNote,
    ReviewSide,
    SignOff,
)
from profiler_core.report.html.document import html_report
from profiler_core.report.markdown import markdown
from tests.report.made_up import hostile_contents

HOSTILE = "<img src=x onerror=alert(1)> @everyone [x](http://evil)"
REVIEW = Review(
    review_id="20261121-abc", title="Week 47 · resnet50", template="weekly",
    summary="Twice as fast.", verdict="accept", created_at="2026-11-21T10:00:00Z",
    changed_at="2026-11-21T11:00:00Z", person="Ada", changed_by="Bob", version=3,
    sides=(ReviewSide("a", None, "eager"), ReviewSide("b", None, "default")),
    findings=(ReviewFinding(1, "f", "3 graph breaks.", "", "", "0.4 ms", "per step", "", ""),),
    notes=(
        ReviewNote(1, "Known, see the ticket.", "2026-11-21T10:30:00Z", "Bob", "f", 1),
        ReviewNote(2, HOSTILE, "2026-11-21T10:31:00Z", HOSTILE, None, None),
    ),
    tasks=(
        FindingTask(1, "f", HOSTILE, "done", "2026-12-01", "2026-11-22T10:00:00Z", "Bob", 2,
                    Difference("b", "c", 2e6, 1.8e6, (1e5, 3e5), 4e5)),
    ),
    sign_offs=(SignOff("Cyn", "accept", "2026-11-21T12:00:00Z", "fine by me"),),
)  # fmt: skip
URL = "https://scope.example.org/review?review=20261121-abc"


@pytest.fixture(scope="module")
def contents():
    return hostile_contents()


def test_without_a_review_nothing_is_said_of_one(contents):
    assert "What the team says" not in html_report(contents)
    assert "**Review" not in markdown(contents)


def test_the_html_holds_verdict_notes_names_and_link(contents):
    html = html_report(replace(contents, review=REVIEW, review_url=URL))
    for words in (
        "What the team says", "Week 47 · resnet50", "accept", "Twice as fast.", "3 graph breaks.",
        "Known, see the ticket.", "Bob, 2026-11-21", "Cyn", "fine by me", f'<a href="{URL}">',
        '<a href="#review">', "A step went from 2.00 ms to 1.80 ms (−10 %): −200 µs, 95 % interval",
        "50 % of it was gained", "due 2026-12-01",
    ):  # fmt: skip
        assert words in html
    assert "<img src=x" not in html
    assert "&lt;img src=x" in html


def test_the_markdown_holds_the_same_and_names_nobody_by_accident(contents):
    text = markdown(replace(contents, review=REVIEW, review_url=URL))
    assert f"**Review [Week 47 · resnet50]({URL}): accept**" in text
    assert "- Known, see the ticket. (Bob on 3 graph breaks.)" in text
    assert "- 3 graph breaks.: done, " in text and "−300 µs to −100 µs" in text
    assert "- Signed by Cyn: accept, fine by me" in text
    assert "<img" not in text
    assert "@everyone" not in text
    assert "](http://evil" not in text


@pytest.mark.parametrize("url", ["", "javascript:alert(1)", "file:///etc/passwd"])
def test_no_link_leads_anywhere_but_to_a_server(contents, url):
    with_review = replace(contents, review=REVIEW, review_url=url)
    assert "javascript:" not in html_report(with_review).split('id="review"')[1][:4000]
    assert "**Review Week 47 · resnet50: accept**" in markdown(with_review)
