"""The list of comparisons: samples, captures, uploads; each can be opened, own ones deleted."""

from html import escape

import streamlit as st

from profiler_core.analysis.side import is_empty
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.wording.first_lines import runs_line
from profiler_core.dates import day, minute
from profiler_core.errors import FusionscopeError
from profiler_core.store import catalogue
from profiler_core.store.deletion import delete
from profiler_core.store.library import Comparable, Entry, Origin, labels_of
from profiler_core.ui.address import in_address
from profiler_core.ui.choice import query_of
from profiler_core.ui.links import page_link, plain_label
from profiler_core.ui.overview.headline import entry_facts
from profiler_core.ui.page import FirstLine, section
from profiler_core.ui.paging import choose_page
from profiler_core.ui.reading import run_of
from profiler_core.ui.runs.ownership import may_delete
from profiler_core.ui.runs.trash import days_in_trash, offer_undo, report, show_last_deletion
from profiler_core.ui.server import is_local_server
from profiler_core.ui.sign_in.guard import who_may
from profiler_core.ui.sign_in.visitor import Visitor, visitor
from profiler_core.ui.states import state_badge, what_happened
from profiler_core.units import format_change_between, format_duration

_PAGE = 25
_NOT_TIMED = "not timed"
_SECTIONS: tuple[tuple[Origin, str], ...] = (
    ("capture", "Captures"),
    ("upload", "Uploads"),
    ("sample", "Samples"),
)
_PLACEHOLDER = "workload, variant, GPU, torch, branch"
_REFRESH = (
    "Look at each folder again. What was captured, uploaded or deleted here appears by itself."
)


def show_runs(first_line: FirstLine) -> None:
    """Draw the list in its sections, a page of each, with a search.

    Args:
        first_line: of the page, which says how many there are.
    """
    _answer(first_line)
    show_last_deletion()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        words = st.text_input(
            "Search", max_chars=200, placeholder=_PLACEHOLDER, **in_address("find")
        )
        st.button("Refresh", help=_REFRESH, on_click=_refresh)
    shown = [_show_section(origin, title, words) for origin, title in _SECTIONS]
    if not any(shown) and words.split():
        st.html("<p class=fs-note>No capture, upload or sample matches these words.</p>")


def _answer(first_line: FirstLine) -> None:
    origins = [origin for origin, _ in _SECTIONS]
    n_of = {str(o): catalogue.n_groups(catalogue.Wanted(origins=(o,))) for o in origins}
    own = catalogue.Wanted(origins=("capture", "upload"))
    newest = next(iter(catalogue.groups(own, limit=1).groups), None)
    if newest is None:
        first_line.answer(runs_line(n_of))
    else:
        created = day(newest.created_at) if newest.created_at else ""
        first_line.answer(runs_line(n_of, newest.title, created))


def _refresh() -> None:
    if who_may("look") is not None:
        catalogue.refresh(everything=True)


def _show_section(origin: Origin, title: str, words: str) -> bool:
    """Draw a page of the captures, uploads or samples; False: there are none."""
    wanted = catalogue.Wanted(origins=(origin,), words=words)
    n_all = catalogue.n_groups(wanted)
    if not n_all:
        return False
    head, rows = st.container(), st.container()
    number = choose_page(f"{origin}s", -(-n_all // _PAGE))
    first = (number - 1) * _PAGE
    shown = catalogue.groups(wanted, offset=first, limit=_PAGE).groups
    with head:
        many = f"{first + 1:,} to {first + len(shown):,} of {n_all:,}, the newest first"
        section(title, many if n_all > _PAGE else "")
    with rows:
        who = visitor()
        for group in shown:
            _row(group, who)
    return True


def _row(group: Comparable, who: Visitor | None) -> None:
    with st.container(key=f"fs_row_{group.key}", horizontal=True, gap="medium"):
        with st.container(width=280, gap="xxsmall"):
            keys = tuple(entry.key for entry in group.entries)
            page_link("overview", plain_label(group.title), query_of(keys))
            st.html(f"<p class=fs-note>{_facts(group)}</p>")
        with st.container(width="stretch"):
            st.html(_variants(group))
        if may_delete(group, who):
            with st.container(width="content"), st.popover("Delete", type="tertiary"):
                _confirm(group)
    st.html("<hr class=fs-line>")


def _facts(group: Comparable) -> str:
    facts = entry_facts(group.baseline)[1:]
    if group.created_at:
        facts = [fact for fact in facts if fact not in ("sample", "upload")]
        facts[-1:] = [minute(group.created_at)]
    # A line may end behind a dot alone: not within a date or a GPU's name.
    return escape("\u00a0· ".join(fact.replace(" ", "\u00a0") for fact in facts))


def _variants(group: Comparable) -> str:
    base = _step_of(group.baseline)
    cells: list[str] = []
    named: dict[str, list[str]] = {}  # what happened -> to whom: often to all of them the same
    for entry, label in zip(group.entries, labels_of(group.entries), strict=True):
        cells.append(_variant(entry, label, base, is_baseline=entry is group.baseline))
        error = entry.problem or entry.run.error
        what = what_happened(entry.run.status, error)
        if what and entry.run.status != "running":  # of which the badge says all
            named.setdefault(what, []).append(label)
    sentences = "".join(
        f"<p class='fs-note fs-w'>{escape(', '.join(labels))}: {escape(what)}</p>"
        for what, labels in named.items()
    )
    return f"<div class=fs-variants>{''.join(cells)}</div>{sentences}"


def _step_of(entry: Entry) -> tuple[float | None, str]:
    """(ns, what was timed): "" for a step without the profiler, else what the trace holds.

    Of a step without a time why there is none.
    """
    timed = step_time_ns(entry.run.measurement)
    if timed is not None:
        return timed, ""
    try:
        summary = run_of(entry).known_summary
    except FusionscopeError:
        return None, _NOT_TIMED
    if summary is not None and summary.is_cut:
        return None, "trace is cut"
    if summary is None or is_empty(summary):
        return None, _NOT_TIMED
    return summary.profiled_step_ns, "profiled" if summary.window.annotated else "whole trace"


def _variant(entry: Entry, label: str, base: tuple[float | None, str], *, is_baseline: bool) -> str:
    step_ns, what = _step_of(entry)
    time_text = what if step_ns is None else format_duration(step_ns)
    change = ""
    if step_ns is not None and what:
        time_text += f" <span class=fs-d>{what}</span>"
    # Times of two clocks make no ratio.
    if not is_baseline and None not in (base[0], step_ns) and base[1] == what != "whole trace":
        change = f" <span class=fs-d>{format_change_between(base[0], step_ns)}</span>"
    return (
        f"<span class=fs-variant><small>{escape(label)}"
        f"{state_badge(entry.run.status)}</small>{time_text}{change}</span>"
    )


def _confirm(group: Comparable) -> None:
    n = len(group.entries)
    what = f"{n} run{'' if n == 1 else 's'} and their files"
    # Folders are for who sits at this machine.
    lies_at = str(group.path) if is_local_server() else group.key
    st.html(
        f"<p class=fs-note><b>{escape(group.title)}</b>: {what}. They can be put back for "
        f"{days_in_trash()}.<br>"
        f"<span class=fs-mono>{escape(lies_at)}</span></p>"
    )
    st.button("Delete", key=f"fs_delete_{group.key}", on_click=_delete, args=(group,))


def _delete(group: Comparable) -> None:
    try:
        who = visitor()
        if not may_delete(group, who):  # the role may have changed since the page was drawn
            return
        offer_undo(delete(group, person=who.person if who else None), group.title)
    except FusionscopeError as error:
        report(f"{error.problem} {error.remedy}")
