"""A review in Markdown: one verdict, a line for each note and each name."""

from collections.abc import Callable
from urllib.parse import quote, urlsplit

from profiler_core.analysis.wording.difference import task_words
from profiler_core.model.review import Review

_MOST_NOTES = 12


def review_lines(review: Review | None, url: str, plain: Callable[[str], str]) -> list[str]:
    """The lines; none without a review.

    Args:
        review: to show.
        url: where it can be opened; anything but http(s) is left out.
        plain: makes foreign text harmless.
    """
    if review is None:
        return []
    title = plain(review.title)
    if urlsplit(url).scheme in ("http", "https"):
        title = f"[{title}]({quote(url, safe=':/?&=%#-_.~')})"
    lines = ["", f"**Review {title}: {plain(review.verdict or 'no verdict yet')}**"]
    lines += ["", plain(review.summary)] if review.summary else []
    notes = [(note, row.title) for row in review.findings for note in review.notes_on(row)]
    notes += [(note, "the whole") for note in review.general_notes]
    lines += [""] if notes or review.sign_offs or review.tasks else []
    lines += [
        f"- {plain(note.text)} ({plain(review.name_of(note.person))} on {plain(about)})"
        for note, about in notes[:_MOST_NOTES]
    ]
    if len(notes) > _MOST_NOTES:
        lines.append(f"- and {len(notes) - _MOST_NOTES} more notes.")
    lines += [
        f"- {plain(row.title)}: {plain(task_words(review, task))}"
        for row in review.findings
        if (task := review.task_of(row)) is not None
    ]
    lines += [
        f"- Signed by {plain(review.name_of(signed.person))}: {plain(signed.decision)}"
        + (f", {plain(signed.note)}" if signed.note else "")
        for signed in review.sign_offs
    ]
    return lines
