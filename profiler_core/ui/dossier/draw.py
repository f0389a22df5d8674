"""A dossier as one piece of HTML, whatever it is about."""

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.dossier.record import (
    Arguments,
    Dossier,
    GeneratedCode,
    Launch,
    Related,
    Relation,
)
from profiler_core.analysis.item import Item, module_item, source_item
from profiler_core.analysis.kernel_names import kernel_labels
from profiler_core.analysis.rows.findings import finding_rows
from profiler_core.analysis.wording.operator import callers_text
from profiler_core.analysis.wording.roofline import roofline_sentences
from profiler_core.analysis.wording.sentence import clipped, listed
from profiler_core.markup import Markup, render
from profiler_core.ui.code_lines import lines_around
from profiler_core.ui.counters.words import detail_lines, traffic_sentence, use_sentence
from profiler_core.ui.dossier.address import item_link
from profiler_core.units import format_bytes, format_count, format_share

_MOST_CODE = 400  # lines of one generated kernel
_MOST_KERNELS = 12
_LONGEST_TITLE = 200  # characters: five lines of 400 px
_LONGEST_NAME = 58  # characters of what a row is about
_FIRST_SOURCES = 6  # lines with the code around them that are shown at once
_FIRST_ARGUMENTS = 4  # kinds of each run that are shown at once
_MOST_ARGUMENTS = 100  # kinds that can be unfolded
_MOST_LAUNCHES = 4  # grids of a run, and calls that launch
_MOST_LAUNCH_COLUMNS = 1  # two of 400 px break cudaLaunchKernelExC
_RELATIONS = {
    "became": "Fusion groups, slowest first",
    "kernels": "Kernels, slowest first",
    "operators": "Operators",
    "modules": "Modules in it, slowest first",
    "members": "Similar groups, slowest first",
    "breaks": "Graph breaks",
    "skips": "Functions that run eager",
    "parts": "Where its step goes",
    "steps": "Waited in each step",
    "called": "Lines that it calls",
    "ranks": "Ranks",
    "functions": "Functions that call it, slowest first",
}

# What one of these starts has many names, so its calls are not one thing that could be counted.
_COUNT_EVENTS = frozenset(("fusion group", "module", "source line"))

_NAMED_IN_CODE = frozenset((
    "kernel", "copy", "memset", "operator", "event", "module", "source line",
))  # fmt: skip

Lines = list[tuple[int, str, bool]]


def draw_dossier(dossier: Dossier, facts: Sequence[tuple[str, str]] = ()) -> None:
    """Draw it.

    Args:
        dossier: what is known.
        facts: terms and texts about one event of it.
    """
    st.html(dossier_html(dossier, facts))


def dossier_html(dossier: Dossier, facts: Sequence[tuple[str, str]] = ()) -> Markup:
    """The same as markup."""
    arguments, n_first = _first_of_each_run(dossier.arguments)
    sources = [(source, lines_around(source.frame, source.lines)) for source in dossier.sources]
    return render(
        "page/dossier.html",
        item=dossier.item,
        kind=dossier.kind,
        title=dossier.title,
        shown_title=clipped(dossier.title, _LONGEST_TITLE),
        is_code_title=dossier.kind in _NAMED_IN_CODE,
        answer=dossier.answer,
        about=dossier.about,
        facts=facts,
        modules=dossier.modules,
        runs_at={where: listed(runs) for where, runs in dossier.runs_at.items()},
        times=dossier.times,
        span=dossier.span,
        n_columns=_n_columns(dossier),
        counted=_counted(dossier),
        advice=dossier.advice,
        findings=[
            (each.label, row)
            for each, row in zip(
                dossier.findings,
                finding_rows(each.finding for each in dossier.findings),
                strict=True,
            )
        ],
        relations=[
            (relation, _named(relation)) for relation in dossier.relations if relation.entries
        ],
        relation_titles=_RELATIONS,
        rooflines=[(line, roofline_sentences(line, dossier.span)) for line in dossier.rooflines],
        sources=sources[:_FIRST_SOURCES],
        more_sources=sources[_FIRST_SOURCES:],
        links_sources=dossier.kind not in ("graph break", "skipped frame", "source line"),
        arguments=arguments[:n_first],
        more_arguments=arguments[n_first:_MOST_ARGUMENTS],
        n_arguments=len(arguments),
        launches=dossier.launches,
        launch_lines=_launch_lines(dossier.launches),
        launch_facts=_launch_facts(dossier.launches),
        counter_lines=[
            (head, [Markup(cell) for cell in cells])
            for head, cells in detail_lines(list(dossier.counters), dossier.span)
        ],
        measured=_measured_lines(dossier),
        generated=[(piece, _numbered(piece)) for piece in dossier.generated[:_MOST_KERNELS]],
        missing=dossier.missing,
        link=item_link,
        clipped=clipped,
        callers_text=callers_text,
        others=_others(dossier),
        module_item=lambda path: module_item(path).beside(dossier.beside),
        source_item=lambda label: source_item(label).beside(dossier.beside),
    )


def _others(dossier: Dossier) -> dict[int, Item]:
    """Run -> the same beside it, where several candidates have it."""
    candidates = {time.run for time in dossier.times if time.run and time.time_ns is not None}
    others = {run: dossier.item.beside(run) for run in candidates}
    return others if len(candidates) > 1 and dossier.item.is_by_name else {}


def _counted(dossier: Dossier) -> str:
    """What is counted per step."""
    if dossier.kind not in _COUNT_EVENTS:
        return "calls"
    return "operators" if dossier.is_of_cpu else "device events"


def _named(relation: Relation) -> list[tuple[str, Related]]:
    """Its entries, each with the name that there is room for: those of kernels are told apart."""
    titles = [entry.title for entry in relation.entries]
    if relation.kind == "kernels":
        names = kernel_labels(titles, _LONGEST_NAME)
    else:
        names = [clipped(title, _LONGEST_NAME) for title in titles]
    return list(zip(names, relation.entries, strict=True))


def _measured_lines(dossier: Dossier) -> list[tuple[str, str]]:
    """What the counters say of each side of a group."""
    lines = []
    for time, of_side in zip(dossier.times, dossier.measured, strict=False):
        if of_side is not None:
            sentences = traffic_sentence(*of_side, dossier.span), use_sentence(of_side[0])
            lines.append((time.label, " ".join(filter(None, sentences))))
    return lines


def _first_of_each_run(arguments: Sequence[Arguments]) -> tuple[list[Arguments], int]:
    """All, those that are shown at once first, and how many these are."""
    n_of: Counter[str] = Counter()
    first: list[Arguments] = []
    further: list[Arguments] = []
    for entry in arguments:
        n_of[entry.label] += 1
        (first if n_of[entry.label] <= _FIRST_ARGUMENTS else further).append(entry)
    return first + further, len(first)


def _n_columns(dossier: Dossier) -> int:
    if any(time.mean_ns is not None for time in dossier.times):
        return 5
    return 2 if any(time.n is not None for time in dossier.times) else 1


def _numbered(piece: GeneratedCode) -> Lines:
    """(number, text, does it store a result) of each line."""
    lines = piece.text.splitlines()[:_MOST_CODE]
    return [(n, text, n in piece.stores) for n, text in enumerate(lines, 1)]


def _launch_lines(launches: Sequence[Launch]) -> list[tuple[str, list[str]]]:
    lines = [
        ("Occupancy, estimate", [_percent(launch.occupancy_pct) for launch in launches]),
        ("Grid and block", [_some(launch.grids) for launch in launches]),
        (
            "Registers per thread",
            [format_count(launch.registers_per_thread) for launch in launches],
        ),
        ("Shared memory", [format_bytes(launch.shared_memory_bytes) for launch in launches]),
        ("Launched by", [_some(launch.launched_by) for launch in launches]),
    ]
    return [line for line in lines if any(cell != "–" for cell in line[1])]


def _launch_facts(launches: Sequence[Launch]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The same of more runs than have a column each: (head, (names of runs, their value))."""
    if len(launches) <= _MOST_LAUNCH_COLUMNS:
        return []
    facts = []
    for head, cells in _launch_lines(launches):
        runs: dict[str, list[str]] = {}
        for launch, cell in zip(launches, cells, strict=True):
            runs.setdefault(cell, []).append(launch.label)
        named = [(listed(labels), cell) for cell, labels in runs.items()]
        facts.append((head, named if len(named) > 1 else [("", cells[0])]))
    return facts


def _some(texts: Sequence[str]) -> str:
    """The first of them, and how many there are besides."""
    n_more = len(texts) - _MOST_LAUNCHES
    more = f" and {format_count(n_more)} more" if n_more > 0 else ""
    return f"{', '.join(texts[:_MOST_LAUNCHES]) or '–'}{more}"


def _percent(value: float | None) -> str:
    return format_share(None if value is None else value / 100)
