"""Verdicts as they are shown."""

from html import escape

from profiler_core.model.review import FindingState, ReviewVerdict

OPEN = "Open"
WORDS: dict[ReviewVerdict, str] = {
    "accept": "Accept",
    "regression": "Regression",
    "needs work": "Needs work",
    "can't tell": "Can't tell",
}
STATE_WORDS: dict[FindingState, str] = {
    "open": "Open",
    "doing": "Doing",
    "done": "Done",
    "won't do": "Won't do",
}
_KIND: dict[ReviewVerdict, str] = {"accept": " fs-good", "regression": " fs-poor"}


def verdict_chip(verdict: ReviewVerdict | None) -> str:
    """A small label, in HTML."""
    if verdict is None:
        return f'<span class="fs-chip">{OPEN}</span>'
    return f'<span class="fs-chip{_KIND.get(verdict, "")}">{escape(WORDS[verdict])}</span>'


def state_chip(state: FindingState) -> str:
    """A small label of a finding's state, in HTML."""
    kind = " fs-good" if state == "done" else ""
    return f'<span class="fs-chip{kind}">{escape(STATE_WORDS[state])}</span>'
