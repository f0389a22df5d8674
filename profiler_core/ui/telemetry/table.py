"""The numbers of all runs side by side, each with its definition and, where absent, its reason."""

from html import escape

import streamlit as st

from profiler_core.analysis.wording.telemetry import Reading, clock_sentence, readings
from profiler_core.markup import breakable
from profiler_core.ui.page import section
from profiler_core.ui.telemetry.data import Recorded, SampledRun
from profiler_core.units import format_change

# label -> the number behind it, for the change against the baseline
_CHANGES = {
    "Power": "power_w",
    "Energy per step": "energy_per_step_j",
    "Energy a sample": "energy_per_sample_j",
    "SM clock": "sm_clock_mhz",
}


def show_table(recorded: Recorded) -> None:
    """Readings as rows, runs as columns; a row that no run has is a sentence below the table."""
    section("In steady state")
    columns = [readings(sampled.telemetry) for sampled in recorded.runs]
    rows = [row for row in zip(*columns, strict=True) if any(reading.value for reading in row)]
    heads = "".join(f"<th>{breakable(sampled.label)}</th>" for sampled in recorded.runs)
    body = "".join(_row(recorded.runs, row) for row in rows)
    clocks = "".join(
        f"<td>{_clocks(sampled)}{'<span class=fs-d></span>' if number else ''}</td>"
        for number, sampled in enumerate(recorded.runs)
    )
    st.html(
        "<div class=fs-scroll><table class=fs-t "
        f'style="max-width:{_width_px(len(recorded.runs))}px">'
        f"<thead><tr><th></th>{heads}</tr></thead>"
        f"<tbody>{body}<tr><th scope=row>Clocks held back by</th>{clocks}</tr></tbody>"
        "</table></div>"
    )


def _width_px(n_runs: int) -> int:
    """Further apart, a reader's eye slips between the rows."""
    return 260 + 230 * n_runs


def missing_sentences(recorded: Recorded) -> list[str]:
    """Why numbers are missing: one sentence for each reason, with what it concerns."""
    absent: dict[tuple[str, str], list[str]] = {}  # (reading, reason) -> runs
    for run in recorded.runs:
        for reading in readings(run.telemetry):
            if reading.value is None:
                absent.setdefault((reading.label, reading.note), []).append(run.label)
    sentences: dict[tuple[str, str], list[str]] = {}  # (runs, reason) -> readings
    for (label, note), runs in absent.items():
        who = "" if len(runs) == len(recorded.runs) else f"{', '.join(runs)}: "
        sentences.setdefault((who, note), []).append(label)
    return [
        f"{who}{' · '.join(labels)}: not available. {note}"
        for (who, note), labels in sentences.items()
    ]


def show_definitions(recorded: Recorded) -> None:
    """What each number means, folded."""
    with st.expander("What each number means", type="compact"):
        st.html(
            "".join(
                f"<p class=fs-note><b>{escape(reading.label)}</b> {escape(reading.definition)}</p>"
                for reading in readings(recorded.runs[0].telemetry)
            )
        )


def _row(runs: tuple[SampledRun, ...], row: tuple[Reading, ...]) -> str:
    cells = []
    for number, reading in enumerate(row):
        if reading.value is None:
            cells.append(f'<td title="{escape(reading.note)}">–</td>')
            continue
        spread = f' title="{escape(reading.note)}"' if reading.note else ""
        change = _change(runs, number, reading.label) if number else ""
        cells.append(f"<td{spread}>{escape(reading.value)}{change}</td>")
    head = f'<abbr class=fs-def title="{escape(row[0].definition)}">{escape(row[0].label)}</abbr>'
    return f"<tr><th scope=row>{head}</th>{''.join(cells)}</tr>"


def _change(runs: tuple[SampledRun, ...], number: int, label: str) -> str:
    key = _CHANGES.get(label)
    base = getattr(runs[0].telemetry, key) if key and runs[0].number == 0 else None
    value = getattr(runs[number].telemetry, key) if key else None
    text = format_change(value / base) if value is not None and base else ""
    return f"<span class=fs-d>{text}</span>"


def _clocks(run: SampledRun) -> str:
    events = run.telemetry.clock_events
    if events is None:
        return "not known"
    if not events:
        return "nothing"
    kind = "fs-w" if run.telemetry.throttling else ""
    return f'<span class="{kind}" title="{escape(clock_sentence(run.telemetry))}">' + escape(
        ", ".join(event.name for event in events)
    ) + "</span>"  # fmt: skip
