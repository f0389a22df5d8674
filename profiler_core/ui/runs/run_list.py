"""The list of comparisons: samples, captures, uploads; each can be opened, own ones deleted."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.step_time import step_time_ns
from profiler_core.dates import minute
from profiler_core.errors import FusionscopeError
from profiler_core.store.deletion import delete
from profiler_core.store.library import Comparable, Entry
from profiler_core.ui.address import in_address
from profiler_core.ui.choice import labels_of, query_of
from profiler_core.ui.links import page_link, plain_label
from profiler_core.ui.overview.headline import entry_facts
from profiler_core.ui.page import section
from profiler_core.ui.runs.ownership import may_delete
from profiler_core.ui.sign_in.visitor import visitor
from profiler_core.ui.states import state_badge, what_happened
from profiler_core.units import format_change, format_duration

_PAGE = 25
_SECTIONS = (("capture", "Captures"), ("upload", "Uploads"), ("sample", "Samples"))
_DELETED = "fs_deleted"


def show_runs(groups: Sequence[Comparable]) -> None:
    """Draw the list in its sections, with a search where it is long."""
    _say_what_was_deleted()
    if len(groups) > _PAGE // 2:
        words = st.text_input("Search", max_chars=200, **in_address("find"))
        if words.split():
            groups = [group for group in groups if _holds(group, words.lower().split())]
        if not groups:
            st.html("<p class=fs-note>Nothing here has all these words in its name.</p>")
    for origin, title in _SECTIONS:
        of_origin = [group for group in groups if group.origin == origin]
        if of_origin:
            section(title)
        for group in of_origin[:_PAGE]:
            _row(group)
        if len(of_origin) > _PAGE:
            hidden = f"{len(of_origin) - _PAGE} older ones are not shown: search for them by name."
            st.html(f"<p class=fs-note>{hidden}</p>")


def _holds(group: Comparable, words: list[str]) -> bool:
    text = " ".join((group.title, group.key, *(e.variant for e in group.entries))).lower()
    return all(word in text for word in words)


def _row(group: Comparable) -> None:
    with st.container(key=f"fs_row_{group.key}", horizontal=True, gap="medium"):
        with st.container(width=280, gap="xxsmall"):
            keys = tuple(entry.key for entry in group.entries)
            page_link("overview", plain_label(group.title), query_of(keys))
            st.html(f"<p class=fs-note>{_facts(group)}</p>")
        with st.container(width="stretch"):
            st.html(_variants(group))
        if may_delete(group):
            with st.container(width=90), st.popover("Delete", type="tertiary"):
                _confirm(group)
    st.html("<hr class=fs-line>")


def _facts(group: Comparable) -> str:
    facts = entry_facts(group.baseline)[1:]
    if group.created_at:
        facts = [fact for fact in facts if fact not in ("sample", "upload")]
        facts[-1:] = [minute(group.created_at)]
    return escape(" · ".join(facts))


def _variants(group: Comparable) -> str:
    base = step_time_ns(group.baseline.run.measurement)
    cells: list[str] = []
    named: dict[str, list[str]] = {}  # what happened -> to whom: often to all of them the same
    for entry, label in zip(group.entries, labels_of(group.entries), strict=True):
        cells.append(_variant(entry, label, base, is_baseline=entry is group.baseline))
        error = entry.problem or entry.run.error
        what = what_happened(entry.run.status, error)
        if what:
            named.setdefault(what, []).append(label)
    sentences = "".join(
        f"<p class='fs-note fs-w'>{escape(', '.join(labels))}: {escape(what)}</p>"
        for what, labels in named.items()
    )
    return f"<div class=fs-variants>{''.join(cells)}</div>{sentences}"


def _variant(entry: Entry, label: str, base: float | None, *, is_baseline: bool) -> str:
    time = step_time_ns(entry.run.measurement)
    time_text = "not timed" if time is None else format_duration(time)
    change = ""
    if not is_baseline and base and time is not None:
        change = f" <span class=fs-d>{format_change(time / base)}</span>"
    return (
        f"<span class=fs-variant><small>{escape(label)}"
        f"{state_badge(entry.run.status)}</small>{time_text}{change}</span>"
    )


def _confirm(group: Comparable) -> None:
    n = len(group.entries)
    what = f"{n} run{'' if n == 1 else 's'} and their files"
    st.html(
        f"<p class=fs-note><b>{escape(group.title)}</b>: {what} will be gone for good.<br>"
        f"<span class=fs-mono>{escape(str(group.path))}</span></p>"
    )
    st.button("Delete for good", key=f"fs_delete_{group.key}", on_click=_delete, args=(group,))


def _delete(group: Comparable) -> None:
    try:
        if not may_delete(group):  # the role may have changed since the page was drawn
            return
        who = visitor()
        delete(group, person=who.person if who else None)
        st.session_state[_DELETED] = f"Deleted {group.title}."
    except FusionscopeError as error:
        st.session_state[_DELETED] = f"{error.problem} {error.remedy}"


def _say_what_was_deleted() -> None:
    message = st.session_state.pop(_DELETED, None)
    if message:
        st.toast(plain_label(message))
