"""The list of reviews with its filters, all of it in the address."""

from collections.abc import Iterable, Mapping
from html import escape
from types import MappingProxyType

import streamlit as st

from profiler_core.analysis.wording.first_lines import reviews_line
from profiler_core.dates import short
from profiler_core.model.review import ReviewHead
from profiler_core.store import history
from profiler_core.ui.address import in_address
from profiler_core.ui.fragments import show_fragments
from profiler_core.ui.page import FirstLine
from profiler_core.ui.review.address import address_of
from profiler_core.ui.review.doing import tell
from profiler_core.ui.review.words import OPEN, WORDS, verdict_chip

_ALL = "All"
_WORTH_FILTERING = 3  # fewer are seen at one glance


def show_reviews(first_line: FirstLine) -> None:
    """Draw the list, newest first; without any, say what a review is.

    Args:
        first_line: of the page, which says how many need a verdict.
    """
    tell()
    every = history.review_heads()
    n_open = sum(head.verdict is None for head in every)
    first_line.answer(reviews_line(len(every), n_open))
    if not every:
        st.html(
            "<p class=fs-sub>No review yet. A review keeps what your team makes of a comparison: "
            "the findings as they stood, a note on each, a verdict, and who signed it. "
            "It has an address of its own, and can go into a report.</p>"
        )
        return
    filters = _filters(every) if len(every) >= _WORTH_FILTERING else history.ReviewFilter()
    shown = every if filters == history.ReviewFilter() else history.review_heads(filters)
    if shown:
        names = _names(shown)
        show_fragments(_row(head, names) for head in shown)
    else:
        st.html("<p class=fs-note>No review matches these filters.</p>")


def _filters(every: tuple[ReviewHead, ...]) -> history.ReviewFilter:
    names = _names(every)
    people = sorted(names, key=names.__getitem__)
    workloads = sorted({head.workload for head in every if head.workload})
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        verdict = st.segmented_control(
            "Verdict", [_ALL, OPEN, *WORDS.values()], default=_ALL, required=True,
            width="content", **in_address("verdict", _ALL),
        )  # fmt: skip
        words = st.text_input(
            "Title",
            max_chars=200,
            placeholder="Search",
            width=220,
            **in_address("title"),
        )
        person = _select("Person", people, "person", names)
        workload = _select("Workload", workloads, "workload")
    by_word = {word: key for key, word in WORDS.items()}
    verdict_key = "open" if verdict == OPEN else by_word.get(verdict or "", "")
    return history.ReviewFilter(verdict_key, person, workload, words)


def _names(heads: Iterable[ReviewHead]) -> Mapping[str, str]:
    """What to show for everybody who began or signed one of them."""
    return history.names_of(person for head in heads for person in (head.person, *head.signed_by))


def _select(
    label: str, values: list[str], key: str, names: Mapping[str, str] = MappingProxyType({})
) -> str:
    if len(values) < 2:
        return ""
    selected = st.selectbox(
        label,
        values,
        index=None,
        format_func=lambda value: names.get(value, value),
        placeholder="Anybody" if label == "Person" else "Any",
        width=190,
        **in_address(key),
    )
    return selected or ""


def _row(head: ReviewHead, names: Mapping[str, str]) -> str:
    about = [head.workload] if head.workload and head.workload not in head.title else []
    about.append(f"begun by {names[head.person]}")
    if head.n_notes:
        about.append(f"{head.n_notes} note{'' if head.n_notes == 1 else 's'}")
    signed_by = ", ".join(names[person] for person in head.signed_by)
    about.append(f"signed by {signed_by}" if signed_by else "not signed yet")
    return (
        f'<div class=fs-rv-row><div><a target="_self" href="{escape(address_of(head.review_id))}">'
        f"{escape(head.title)}</a><small>{escape(' · '.join(about))}</small></div>"
        f"<div>{verdict_chip(head.verdict)}</div>"
        f"<span class=fs-when>{escape(short(head.changed_at))}</span></div>"
    )
