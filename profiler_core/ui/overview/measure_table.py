"""The comparison as one table: runs as columns, measures as rows, the change beside the value."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.compare import ComparedNumbers, Side
from profiler_core.analysis.measures import Judgement, Measure, measures
from profiler_core.analysis.wording.measures import change_text, value_text
from profiler_core.ui.run_heads import breakable
from profiler_core.ui.states import state_badge

_CLASS: dict[Judgement, str] = {"better": " fs-b", "worse": " fs-w", "same": "", "unjudged": ""}
_WORD: dict[Judgement, str] = {
    "better": "better",
    "worse": "worse",
    "same": "no difference",
    "unjudged": "",
}


def show_measures(comparison: ComparedNumbers) -> None:
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


def show_definitions(comparison: ComparedNumbers) -> None:
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
        f"<th>{breakable(side.label)}{state_badge(side.run.record.status)}</th>" for side in sides
    )


def _row(measure: Measure) -> str:
    cells = [f"<td>{value_text(measure, 0)}</td>"]
    cells.extend(
        f"<td>{value_text(measure, run)}{_change(measure, run)}</td>"
        for run in range(1, len(measure.values))
    )
    head = f'<abbr class=fs-def title="{escape(measure.definition)}">{escape(measure.label)}</abbr>'
    return f"<tr><th scope=row>{head}</th>{''.join(cells)}</tr>"


def _change(measure: Measure, run: int) -> str:
    judgement = measure.judgements[run - 1]
    text = change_text(measure, run)
    return f'<span class="fs-d{_CLASS[judgement]}" title="{_WORD[judgement]}">{text}</span>'


def _results(comparison: ComparedNumbers) -> str:
    """Whether each candidate computes the right thing; no row where nobody checked."""
    all_numerics = [c.numerics for c in comparison.candidates]
    if all(n is None for n in all_numerics):
        return ""
    cells = ["<td>reference</td>"]
    for numerics in all_numerics:
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
