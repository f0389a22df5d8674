"""The first thing on a page that answers: facts, a claim in large letters, what it rests on."""

from collections.abc import Iterable

import streamlit as st

from profiler_core.analysis.wording.sentence import Phrase
from profiler_core.markup import render


def show_claim(
    facts: Iterable[str],
    title: Phrase,
    lines: Iterable[str] = (),
    *,
    bad: bool = False,
    warnings: Iterable[str] = (),
) -> None:
    """Draw them.

    Args:
        facts: what was run, in the line above.
        title: the claim.
        lines: sentences below it; empty ones are left out.
        bad: the claim is no good news.
        warnings: sentences about what went wrong, below all others.
    """
    st.html(
        render(
            "page/headline.html",
            facts=list(facts), title=title, lines=list(lines), is_bad=bad, warnings=list(warnings),
        )
    )  # fmt: skip
