"""The overview's waterfall: where the difference comes from, and one bar opened into its groups."""

from html import escape
from typing import Any

import streamlit as st

from profiler_core.analysis.explanation import Explanation
from profiler_core.analysis.item import group_item
from profiler_core.analysis.opened_bar import BarLine, bar_lines, what_it_is
from profiler_core.analysis.waterfall import WaterfallRow
from profiler_core.analysis.wording.comparison import difference_note, waterfall_alt
from profiler_core.analysis.wording.sentence import capitalised, clipped
from profiler_core.figures.template import CONFIG
from profiler_core.figures.waterfall import bars, waterfall_figure
from profiler_core.markup import Markup, render
from profiler_core.ui.candidate import choose_candidate
from profiler_core.ui.choice import Choice
from profiler_core.ui.dossier.address import item_link
from profiler_core.ui.links import href
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.style import colors

_BAR = "bar"  # the URL parameter: key of the open row
_LONGEST = 40  # characters of a run's name in a sentence


def show_difference(choice: Choice) -> int | None:
    """The waterfall of one candidate, which needs nothing but the summaries.

    Returns:
        Which candidate: the leading one, or what is picked; None: none has a trace to explain.
    """
    numbers = [
        pair.number
        for pair in choice.comparison.pairs
        if pair.not_explained is None and not pair.unrelated
    ]
    if not numbers:
        return None
    section("Where the difference comes from")
    number = choose_candidate(choice, numbers)
    pair = choice.comparison.pairs[number]
    labels, result = pair.labels, pair.waterfall
    short = (clipped(labels[0], _LONGEST), clipped(labels[1], _LONGEST))
    note = f"{difference_note(result, short)} Click a bar to see what is in it."
    st.html(f"<p class=fs-question>{escape(note)}</p>")
    st.plotly_chart(
        waterfall_figure(result, labels, colors(), opened=st.query_params.get(_BAR, "")),
        theme=None,
        config=CONFIG,
        key="waterfall",
        on_select=_from_chart,
        selection_mode="points",
        alt=waterfall_alt(result),
    )
    return number


def _from_chart() -> None:
    """Open the bar that was clicked; a second click on it closes it."""
    points = st.session_state["waterfall"]["selection"]["points"]
    data: Any = points[0].get("customdata") if points else None
    key = data[0] if isinstance(data, list | tuple) and data else data
    if isinstance(key, str) and key and key != st.query_params.get(_BAR):
        st.query_params[_BAR] = key
    else:
        st.query_params.pop(_BAR, None)


def show_opened_bar(choice: Choice, number: int, explanation: Explanation) -> None:
    """The groups of the open bar, which sum to it; nothing where none is open."""
    key = st.query_params.get(_BAR)
    if not key or explanation.waterfall is None:
        return
    labels = (choice.labels[0], choice.labels[number + 1])
    opened = next((bar for bar in bars(explanation.waterfall, labels) if key in bar.keys), None)
    rows = [
        row for row in explanation.waterfall.rows if opened is not None and row.key in opened.keys
    ]
    for row in rows:
        _show_row(choice, number, explanation, row)


def show_difference_notes(explanation: Explanation) -> None:
    """What the bars rest on."""
    if explanation.waterfall is not None:
        show_notes(explanation.waterfall.notes)


def _show_row(choice: Choice, number: int, explanation: Explanation, row: WaterfallRow) -> None:
    lines = bar_lines(row, explanation.ledger) if explanation.ledger is not None else ()

    def name(line: BarLine) -> Markup | str:
        title = clipped(line.title, 70)
        return title if line.group is None else item_link(group_item(number + 1, line.group), title)

    labels = [clipped(choice.labels[n], 18) for n in (0, number + 1)]
    st.html(
        render(
            "page/opened_bar.html",
            row=row,
            title=capitalised(row.label),
            labels=labels,
            lines=[(line, name(line)) for line in lines],
            reason=what_it_is(row, labels) or "The groups of this bar are not known.",
            timeline=href("timeline", choice.query),
        )
    )
