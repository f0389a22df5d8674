"""The chapter of a review: verdict, notes on what, and whose names stand under it."""

from html import escape
from urllib.parse import urlsplit

from profiler_core.model.review import Review, ReviewFinding, ReviewNote
from profiler_core.report.contents import Contents
from profiler_core.report.html.pieces import chapter, paragraph, table

_KIND = {"accept": "better", "regression": "worse"}


def review_chapter(contents: Contents) -> str:
    """Empty where the report has no review."""
    review = contents.review
    if review is None:
        return ""
    kind = _KIND.get(review.verdict or "", "muted")
    parts = [
        f'<p class="lead"><b>{escape(review.title)}</b>: '
        f'<b class="{kind}">{escape(review.verdict or "no verdict yet")}</b></p>',
        *([paragraph(review.summary)] if review.summary else []),
        _signed(review),
        _notes(review),
        _link(review, contents.review_url),
    ]
    return chapter("review", "What the team says", "", *parts, flow=True)


def _signed(review: Review) -> str:
    if not review.sign_offs:
        return paragraph("Nobody has signed it yet.", "muted")
    rows = [
        [
            escape(sign_off.person),
            f'<span class="{_KIND.get(sign_off.decision, "")}">{escape(sign_off.decision)}</span>',
            escape(sign_off.signed_at[:10]),
            escape(sign_off.note),
        ]
        for sign_off in review.sign_offs
    ]
    return table(["Signed by", "verdict", "on", ""], rows, text=True)


def _notes(review: Review) -> str:
    rows = [
        [escape(_about(review, finding)), _note_html(note)]
        for finding in review.findings
        for note in review.notes_on(finding)
    ]
    rows += [["The whole", _note_html(note)] for note in review.general_notes]
    return table(["Note on", ""], rows, text=True) if rows else ""


def _about(review: Review, finding: ReviewFinding) -> str:
    label = review.sides[finding.position].label
    return f"{finding.title} ({label})" if len(review.sides) > 2 else finding.title


def _note_html(note: ReviewNote) -> str:
    when = f"{note.person}, {note.written_at[:10]}"
    return f"{escape(note.text)}<br><small>{escape(when)}</small>"


def _link(review: Review, url: str) -> str:
    about = f"Review {review.review_id}, begun by {review.person} on {review.created_at[:10]}"
    if urlsplit(url).scheme in ("http", "https"):
        return f'<p class="muted">{escape(about)}: <a href="{escape(url)}">{escape(url)}</a></p>'
    return paragraph(f"{about}.", "muted")
