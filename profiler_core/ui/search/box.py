"""The box: the browser sends words, and gets links to dossiers, other runs and pages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from profiler_core.analysis.kernel_names import kernel_labels
from profiler_core.analysis.search import SearchEntry, SearchIndex, matches_all
from profiler_core.errors import FusionscopeError
from profiler_core.page_specs import PageSpec, page_specs
from profiler_core.session.search import search_index
from profiler_core.store import catalogue
from profiler_core.store.catalogue import Wanted
from profiler_core.ui.candidate import candidate_run
from profiler_core.ui.choice import Keys, chosen_keys, open_choice, query_of
from profiler_core.ui.dossier.address import item_href, with_item
from profiler_core.ui.links import href
from profiler_core.ui.sign_in.guard import fragment
from profiler_core.units import format_duration

_KEY = "fs_search_box"
_ASKED, _ANSWERED = "fs_search_words", "fs_search_answer"
_MOST, _MOST_RUNS = 24, 5
_LONGEST_WORDS = 200  # characters
_LONGEST_DETAIL = 120
_LONGEST_KERNEL = 60  # the box has room for it
_HERE = Path(__file__).parent
_BOX = st.components.v2.component(
    "fusionscope_search",
    html=(_HERE / "box.html").read_text("utf-8"),
    css=(_HERE / "box.css").read_text("utf-8"),
    js=(_HERE / "box.js").read_text("utf-8"),
)


@fragment
def search_box(spec: PageSpec) -> None:
    """Draw the button; the rest is drawn by the browser when it is opened.

    In a fragment: what is typed runs nothing of the page again.

    Args:
        spec: of the page that it stands on; without a dossier its links lead to the overview.
    """
    # Worked out once: a later run of the page may be of other runs, and would wait for their index.
    # But sent with each, since the browser gets no more than the last of several that follow.
    words = st.session_state.pop(_ASKED, "")
    if words:
        st.session_state[_ANSWERED] = _answer(spec, words)
    with st.container(key="fs_search"):
        _BOX(
            key=_KEY,
            data=st.session_state.get(_ANSWERED, {"words": "", "results": [], "none": ""}),
            width="content",
            on_words_change=_asked,
        )


def _asked() -> None:
    state = st.session_state.get(_KEY)
    words: Any = state.get("words") if state is not None else None
    st.session_state[_ASKED] = words[:_LONGEST_WORDS] if isinstance(words, str) else ""


def _answer(spec: PageSpec, words: str) -> dict[str, Any]:
    keys = chosen_keys()
    index = _index(keys)
    runs = _runs(keys, words)
    named = [run for run in runs if is_named(run["title"], words)]
    others = [*_of_comparison(spec, keys, index, words), *(run for run in runs if run not in named)]
    pages = matching_pages(words, has_runs=bool(keys))
    by_title = [page for page in pages if page.title.lower() == words.lower()]
    results = [
        *_pages(keys, by_title),
        *named,
        *others,
        *_pages(keys, [page for page in pages if page not in by_title]),
    ]
    none = "" if named or others else index.no_match(words, has_page=bool(pages))
    return {"words": words, "results": results, "none": none}


def _index(keys: Keys) -> SearchIndex:
    """Of the chosen runs; an empty one where there are none."""
    try:
        if not keys:
            return SearchIndex(())
        choice = open_choice(keys)
        return search_index(choice.comparison, candidate_run(choice))
    except FusionscopeError:  # the page says what is wrong with its runs
        return SearchIndex(())


def matching_pages(words: str, *, has_runs: bool) -> list[PageSpec]:
    """Pages of the menu whose title, question or further words have all of these.

    The ones whose question has them come first.

    Args:
        words: that are searched.
        has_runs: are runs chosen? Without them pages that need some have nothing to show.
    """
    matching = [
        spec
        for spec in page_specs()
        if not (spec.for_admins or spec.for_members)
        and (has_runs or not spec.has_dossier)
        and matches_all(words, f"{spec.title} {spec.question} {spec.words}")
    ]
    return sorted(matching, key=lambda spec: not matches_all(words, spec.question))


def _pages(keys: Keys, pages: Sequence[PageSpec]) -> list[dict[str, str]]:
    return [
        {
            "kind": "page",
            "title": page.title,
            "whole": page.title,
            "detail": page.question,
            "time": "",
            "href": href(page.name, query_of(keys) if page.has_dossier else None),
            "item": "",
        }
        for page in pages
    ]


def is_named(title: str, words: str) -> bool:
    """Do the words begin a title and end with a word of it: "bert", and not "break" of breaky?"""
    rest = title.lower().removeprefix(words.lower())
    return rest != title.lower() and not rest[:1].isalnum()


def _of_comparison(
    spec: PageSpec, keys: Keys, index: SearchIndex, words: str
) -> list[dict[str, str]]:
    entries = index.search(words, _MOST)
    kernels = [entry.title for entry in entries if entry.kind == "kernel"]
    labels = dict(zip(kernels, kernel_labels(kernels, _LONGEST_KERNEL), strict=True))
    return [_result(entry, labels.get(entry.title, entry.title), spec, keys) for entry in entries]


def _result(entry: SearchEntry, label: str, spec: PageSpec, keys: Keys) -> dict[str, str]:
    """What the box draws; the label of a kernel tells it from the others that match."""
    there = with_item(query_of(keys), entry.item)
    return {
        "kind": entry.kind,
        "title": label,
        "whole": entry.title,
        "detail": " · ".join(filter(None, (entry.runs, entry.detail)))[:_LONGEST_DETAIL],
        "time": _time(entry),
        "href": item_href(entry.item) if spec.has_dossier else href("overview", there),
        "item": entry.item.text if spec.has_dossier else "",
    }


def _time(entry: SearchEntry) -> str:
    """Its time per step; of a pair on both sides, as its dossier has it: "160 µs → 138 µs"."""
    if any(entry.sides_ns):
        return " → ".join(format_duration(ns) if ns else "–" for ns in entry.sides_ns)
    return format_duration(entry.step_ns) if entry.step_ns else ""


def _runs(keys: Keys, words: str) -> list[dict[str, str]]:
    """Comparisons that lie here, by workload, variant, GPU, torch or branch."""
    groups = catalogue.groups(Wanted(words=words), limit=_MOST_RUNS + 1).groups
    results = []
    for group in groups:
        of_group = tuple(entry.key for entry in group.entries)
        if not set(keys) <= set(of_group) or not keys:
            variants = ", ".join(entry.variant for entry in group.entries)
            results.append(
                {
                    "kind": "runs",
                    "title": group.title,
                    "whole": group.title,
                    "detail": variants[:_LONGEST_DETAIL],
                    "time": "",
                    "href": href("overview", query_of(of_group)),
                    "item": "",
                }
            )
    return results[:_MOST_RUNS]
