"""Verdicts as they are shown."""

from html import escape

from profiler_core.model.review import ReviewVerdict

OPEN = "Open"
WORDS: dict[ReviewVerdict, str] = {
    "accept": "Accept",
    "regression": "Regression",
    "needs work": "Needs work",
    "can't tell": "Can't tell",
}
_KIND: dict[ReviewVerdict, str] = {"accept": " fs-good", "regression": " fs-poor"}


def verdict_chip(verdict: ReviewVerdict | None) -> str:
    """A small label, in HTML."""
    if verdict is None:
        return f'<span class="fs-chip">{OPEN}</span>'
    return f'<span class="fs-chip{_KIND.get(verdict, "")}">{escape(WORDS[verdict])}</span>'
