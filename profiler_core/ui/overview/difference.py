"""The overview's waterfall: where the difference comes from, and one bar opened into its groups."""

from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from profiler_core.analysis.explanation import Explanation
from profiler_core.analysis.opened_bar import BarLine, bar_lines, what_it_is
from profiler_core.analysis.waterfall import Waterfall, WaterfallRow
from profiler_core.figures.names import clipped
from profiler_core.figures.template import CONFIG
from profiler_core.figures.waterfall import bars, waterfall_figure
from profiler_core.ui.choice import Choice
from profiler_core.ui.fusion.address import link_to_group
from profiler_core.ui.links import href
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.style import colors
from profiler_core.units import format_difference, format_duration

_BAR = "bar"  # the URL parameter: key of the open row
_LONGEST = 40  # characters of a run's name in a sentence
_CLOCK = {
    "unprofiled": "timed without the profiler",
    "profiled": "on the profiler's clock",
}


def show_difference(choice: Choice) -> int | None:
    """The waterfall of one candidate, which needs nothing but the summaries.

    Returns:
        Which candidate: the leading one, or what is picked; None: none has a trace to explain.
    """
    numbers = [pair.number for pair in choice.comparison.pairs if pair.not_explained is None]
    if not numbers:
        return None
    section("Where the difference comes from")
    number = _choose(choice, numbers)
    pair = choice.comparison.pairs[number]
    labels, result = pair.labels, pair.waterfall
    before, after = format_duration(result.baseline_ns), format_duration(result.candidate_ns)
    baseline, candidate = (escape(clipped(label, _LONGEST)) for label in labels)
    st.html(
        f"<p class=fs-question>A step of {baseline} takes {before}, one of {candidate} {after}, "
        f"{_CLOCK[result.clock]}; the bars between add up to the difference exactly. "
        "Click a bar to see what is in it.</p>"
    )
    st.plotly_chart(
        waterfall_figure(result, labels, colors(), opened=st.query_params.get(_BAR, "")),
        theme=None,
        config=CONFIG,
        key="waterfall",
        on_select=_from_chart,
        selection_mode="points",
        alt=_in_words(result),
    )
    return number


def _choose(choice: Choice, numbers: Sequence[int]) -> int:
    lead = choice.comparison.leading
    first = lead.number if lead is not None and lead.number in numbers else numbers[0]
    if len(numbers) == 1:
        return first
    picked = st.segmented_control(
        "Candidate",
        numbers,
        default=first,
        required=True,
        format_func=lambda n: choice.labels[n + 1],
        key=f"overview_candidate_{'_'.join(entry.key for entry in choice.entries)}",
        label_visibility="collapsed",
    )
    return picked if picked in numbers else first


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
    head = (
        f"<h3 class=fs-h>{escape(row.label[:1].upper() + row.label[1:])} "
        f"<span class=fs-d>{format_duration(row.baseline_ns)} → "
        f"{format_duration(row.candidate_ns)}</span></h3>"
    )
    lines = bar_lines(row, explanation.ledger) if explanation.ledger is not None else ()
    if not lines:
        reason = what_it_is(row.key) or "The groups of this bar are not known."
        query = {**choice.query}
        link = (
            f'<a class=fs-link href="{escape(href("timeline", query))}" target=_self>timeline →</a>'
        )
        st.html(f"{head}<p class=fs-note>{escape(reason)} {link}</p>")
        return
    names = [escape(clipped(label, 18)) for label in (choice.labels[0], choice.labels[number + 1])]
    body = "".join(_line(choice, number, line) for line in lines)
    st.html(
        f'{head}<div class=fs-scroll><table class="fs-t fs-opened"><thead><tr><th>fusion group</th>'
        f"<th>{names[0]}</th><th>{names[1]}</th><th>change</th></tr></thead><tbody>{body}"
        f"<tr class=fs-sum><th scope=row>all of it</th><td>{format_duration(row.baseline_ns)}</td>"
        f"<td>{format_duration(row.candidate_ns)}</td><td>{_change(row.delta_ns)}</td></tr>"
        "</tbody></table></div>"
    )


def _line(choice: Choice, number: int, line: BarLine) -> str:
    title = escape(clipped(line.title, 70))
    if line.group is not None:
        link = href("fusion", link_to_group(choice.query, number, line.group))
        title = f'<a class=fs-link href="{escape(link)}" target=_self>{title}</a>'
    source = f" <small>{escape(line.source)}</small>" if line.source else ""
    return (
        f"<tr><th scope=row>{title}{source}</th><td>{_time(line.baseline_ns)}</td>"
        f"<td>{_time(line.candidate_ns)}</td><td>{_change(line.delta_ns)}</td></tr>"
    )


def _time(ns: int) -> str:
    return format_duration(ns) if ns else "·"


def _change(ns: int) -> str:
    kind = " class=fs-b" if ns < 0 else " class=fs-w" if ns > 0 else ""
    return f"<span{kind}>{format_difference(ns)}</span>"


def _in_words(result: Waterfall) -> str:
    changes = "; ".join(
        f"{row.label} {format_difference(row.delta_ns)}" for row in result.rows if row.delta_ns
    )
    return f"From {format_duration(result.baseline_ns)} per step: {changes}."
