"""The comparison as one table: runs as columns, measures as rows, the change beside the value."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.compare import Comparison, Side
from profiler_core.analysis.measures import Judgement, Measure, measures
from profiler_core.ui.states import state_badge
from profiler_core.units import (
    format_bytes,
    format_change,
    format_count,
    format_duration,
    format_share,
)

_CLASS: dict[Judgement, str] = {"better": " fs-b", "worse": " fs-w", "same": "", "unjudged": ""}
_WORD: dict[Judgement, str] = {
    "better": "better",
    "worse": "worse",
    "same": "no difference",
    "unjudged": "",
}


def show_measures(comparison: Comparison) -> None:
    """Draw the table."""
    rows = measures(comparison)
    sides = (comparison.baseline, *comparison.sides)
    body = "".join(_row(measure) for measure in rows) + _results(comparison)
    st.html(
        f"<div class=fs-scroll><table class=fs-t><thead><tr><th></th>{_heads(sides)}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def table_width_px(n_runs: int) -> int:
    """Room that the table needs before it must scroll."""
    return 220 + 138 * max(n_runs - 1, 0)


def show_definitions(comparison: Comparison) -> None:
    """Each number's meaning, folded: titles that need a mouse are not enough."""
    with st.expander("What each number means", type="compact"):
        st.html(
            "".join(
                f"<p class=fs-note><b>{escape(m.label)}</b> {escape(m.definition)}</p>"
                for m in measures(comparison)
            )
        )


def _heads(sides: Sequence[Side]) -> str:
    return "".join(
        f"<th>{escape(side.label)}{state_badge(side.run.record.status)}</th>" for side in sides
    )


def _row(measure: Measure) -> str:
    cells = [f"<td>{_value(measure, measure.values[0])}</td>"]
    for run, value in enumerate(measure.values[1:], start=1):
        text = measure.word(run) or _value(measure, value)
        cells.append(f"<td>{text}{_change(measure, run)}</td>")
    head = f'<abbr class=fs-def title="{escape(measure.definition)}">{escape(measure.label)}</abbr>'
    return f"<tr><th scope=row>{head}</th>{''.join(cells)}</tr>"


def _value(measure: Measure, value: float | None) -> str:
    if value is None:
        return "–"
    if measure.unit == "ns":
        return format_duration(value)
    if measure.unit == "bytes":
        return format_bytes(value)
    if measure.unit == "share":
        return format_share(value)
    if measure.unit == "ratio":
        return f"{value:.2f}×"
    return format_count(value)


def _change(measure: Measure, run: int) -> str:
    judgement = measure.judgements[run - 1]
    mine, base = measure.values[run], measure.values[0]
    text = ""
    if measure.unit == "share" and mine is not None and base is not None:
        points = round((mine - base) * 100)
        text = "±0 pts" if points == 0 else f"{'+' if points > 0 else '−'}{abs(points)} pts"
    elif measure.unit != "ratio":
        ratio = measure.change(run)
        text = "" if ratio is None else format_change(ratio)
    return f'<span class="fs-d{_CLASS[judgement]}" title="{_WORD[judgement]}">{text}</span>'


def _results(comparison: Comparison) -> str:
    """Whether each candidate computes the right thing; no row where nobody checked."""
    found = [c.numerics for c in comparison.candidates]
    if all(n is None for n in found):
        return ""
    cells = ["<td>reference</td>"]
    for numerics in found:
        verdict = "not checked" if numerics is None else numerics.verdict
        kind = {"right": "", "wrong": " fs-w"}.get(verdict, " fs-muted")
        reason = escape(numerics.reason) if numerics is not None else ""
        cells.append(
            f'<td><span class="{kind.strip()}" title="{reason}">{escape(verdict)}</span>'
            "<span class=fs-d></span></td>"
        )
    meaning = (
        "RMS error against an eager reference in fp64 (fp32 where that is not possible): right "
        "when at most three times the baseline's own, plus the rounding unit of its dtype."
    )
    return (
        f'<tr><th scope=row><abbr class=fs-def title="{escape(meaning)}">Results</abbr></th>'
        f"{''.join(cells)}</tr>"
    )
