"""The sidebar control that chooses what a page looks at: a comparison, a baseline, candidates."""

from collections import Counter

import streamlit as st

from profiler_core.analysis.wording.sentence import clipped
from profiler_core.dates import short
from profiler_core.errors import FusionscopeError
from profiler_core.store import catalogue
from profiler_core.store.catalogue import Line, LineOfRun
from profiler_core.store.library import Entry, labels_of
from profiler_core.ui.changed_files import show_changed_files
from profiler_core.ui.choice import (
    Choice,
    Keys,
    choose,
    chosen_keys,
    open_choice,
    write_url,
)
from profiler_core.ui.empty_state import nothing_yet
from profiler_core.ui.sign_in.deeds import note_look
from profiler_core.ui.sign_in.visitor import visitor

_GROUP, _BASELINE, _CANDIDATES = "fs_pick_group", "fs_pick_baseline", "fs_pick_candidates"
_LONGEST_TITLE = 44  # characters; names of uploads may be a file's
_OFFERED = 100  # own captures and uploads
_OTHER = ""  # the comparison that somebody put together from several captures


def choose_runs() -> Choice:
    """Draw the picker and return the chosen runs; with nothing to choose, say so and stop.

    Raises:
        BadInput: the URL names a run that is not here (the picker is there all the same).
    """
    keys = chosen_keys()
    if not keys:
        nothing_yet()
        st.stop()
    picker = st.sidebar.container()
    try:
        choice = open_choice(keys)
    except FusionscopeError:
        with picker:  # so that there is a way on from a link that leads nowhere
            _draw(keys, {})
        raise
    note_look(visitor(), keys)
    with picker:
        _draw(keys, {entry.key: entry for entry in choice.entries})
    write_url(keys)
    show_changed_files(choice)
    return choice


def _draw(keys: Keys, chosen: dict[str, Entry]) -> None:
    current = catalogue.line_of(keys)
    offered = offered_lines(current)
    by_key = {line.key: line for line in offered}
    everything = {run.key: run for line in offered for run in line.runs}
    everything |= {key: _as_line(entry) for key, entry in chosen.items()}
    near = {run.key: run for run in current.runs} if current else {}
    # Those of the comparison come first, so that the usual choice needs no search.
    options = [*near, *(key for key in everything if key not in near)]
    names = unique_labels(
        dict(zip(options, _names(options, near, everything, chosen), strict=True))
    )
    titles = unique_labels({key: line_label(line) for key, line in by_key.items()})

    # Widgets are seeded from the choice each time: they die with their page, the choice stays.
    st.session_state[_GROUP] = current.key if current else _OTHER
    st.session_state[_BASELINE] = keys[0] if keys[0] in everything else None
    st.session_state[_CANDIDATES] = [key for key in keys[1:] if key in everything]
    st.selectbox(
        "Comparison",
        [*by_key, *([] if current else [_OTHER])],
        format_func=lambda key: titles.get(key, "Put together by hand"),
        key=_GROUP,
        on_change=_group_changed,
        args=(by_key,),
    )
    st.selectbox(
        "Baseline",
        options,
        format_func=names.__getitem__,
        key=_BASELINE,
        on_change=_baseline_changed,
        args=(keys,),
    )
    st.multiselect(
        "Candidates",
        [key for key in options if key != keys[0]],
        format_func=names.__getitem__,
        key=_CANDIDATES,
        placeholder="Choose runs to compare",
        on_change=_candidates_changed,
        args=(keys,),
    )


def offered_lines(current: Line | None = None) -> tuple[Line, ...]:
    """The newest ones and every sample: a menu of thousands is no choice, and costs seconds.

    Older ones are opened from the page Runs, which has a search.

    Args:
        current: offered whatever its age.
    """
    lines = catalogue.newest(_OFFERED)
    own = [line for line in lines if line.origin != "sample"]
    if current is not None and current.key not in {line.key for line in lines}:
        own.append(current)
    return (*own, *(line for line in lines if line.origin == "sample"))


def line_label(line: Line) -> str:
    """A comparison in one line: workload, where it comes from, when (several a day are usual)."""
    parts = [clipped(line.title, _LONGEST_TITLE)]
    if line.origin == "sample":
        parts.append("sample")
    elif line.created_at:
        parts.append(short(line.created_at))
    return " · ".join(parts)


def _as_line(entry: Entry) -> LineOfRun:
    workload = entry.run.workload or entry.path.parent.name
    return LineOfRun(entry.key, entry.variant, entry.variant, workload)


def _names(
    options: list[str],
    near: dict[str, LineOfRun],
    everything: dict[str, LineOfRun],
    chosen: dict[str, Entry],
) -> list[str]:
    """What is chosen is called as on the page; far from its comparison with its workload."""
    labels = {key: run.label for key, run in near.items()}
    on_page = dict(zip(chosen, labels_of(list(chosen.values())), strict=True))
    if len(chosen) > 1 and set(chosen) <= set(near):
        labels |= on_page
    one_workload = len({entry.run.workload for entry in chosen.values()}) == 1
    for key, run in everything.items():
        if key not in on_page:
            labels.setdefault(key, f"{run.workload} · {run.variant}")
        else:  # labels of several workloads name them
            label = on_page[key]
            labels.setdefault(key, f"{run.workload} · {label}" if one_workload else label)
    return [labels[key] for key in options]


def unique_labels(labels: dict[str, str]) -> dict[str, str]:
    """Labels that differ: the browser sends back a label, and the first of two equals would win."""
    counts = Counter(labels.values())
    return {
        key: label if counts[label] == 1 else f"{label} ({key.split('/', 1)[-1]})"
        for key, label in labels.items()
    }


def _group_changed(by_key: dict[str, Line]) -> None:
    line = by_key.get(st.session_state[_GROUP])
    if line is not None:
        choose(line.keys)


def _baseline_changed(keys: Keys) -> None:
    """The old baseline trades places with a candidate that became it."""
    new = st.session_state[_BASELINE]
    if new is not None:
        choose((new, *(keys[0] if key == new else key for key in keys[1:])))


def _candidates_changed(keys: Keys) -> None:
    choose((keys[0], *st.session_state[_CANDIDATES]))
