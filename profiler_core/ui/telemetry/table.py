"""The numbers of all runs side by side, each with its definition and, where absent, its reason."""

import streamlit as st

from profiler_core.analysis.rows.table import Cell, Change, Table, Tone, text_row
from profiler_core.analysis.wording.telemetry import (
    RANK_HEADS,
    Reading,
    clock_sentence,
    held_back,
    rank_rows,
    readings,
    readings_head,
)
from profiler_core.markup import render
from profiler_core.ui.page import section
from profiler_core.ui.table import show_table
from profiler_core.ui.telemetry.data import Recorded, SampledRun
from profiler_core.units import format_change_between

# label -> the number behind it, for the change against the baseline
_CHANGES = {
    "Power": "power_w",
    "Energy per step": "energy_per_step_j",
    "Energy per sample": "energy_per_sample_j",
    "SM clock": "sm_clock_mhz",
}


def show_readings(recorded: Recorded) -> None:
    """Readings as rows, runs as columns; a row that no run has is a sentence below the table."""
    runs = recorded.runs
    section(*readings_head([(sampled.label, sampled.telemetry) for sampled in runs]))
    columns = [readings(sampled.telemetry) for sampled in runs]
    rows = [
        _row(runs, row)
        for row in zip(*columns, strict=True)
        if any(reading.value for reading in row)
    ]
    clocks = (Cell("Clocks held back by"), *(_clocks(sampled) for sampled in runs))
    table = Table(("", *(sampled.label for sampled in runs)), (*rows, clocks))
    # Further apart, a reader's eye slips between the rows.
    show_table(table, named=True, width_px=260 + 230 * len(runs))


def show_ranks(recorded: Recorded) -> None:
    """The GPU of each rank of the jobs among the runs; nothing where there is none."""
    rows = tuple(
        (
            Cell(sampled.label if of_rank.rank == 0 else ""),
            Cell(row[0], note=of_rank.gpu_uuid or ""),
            *text_row(*row[1:]),
        )
        for sampled in recorded.runs
        for of_rank, row in zip(sampled.telemetry.ranks, rank_rows(sampled.telemetry), strict=True)
    )
    if rows:
        section("The GPU of each rank", "The energy of a job is the sum over its GPUs.")
        show_table(Table(("", *RANK_HEADS), rows), named=True, width_px=1040)


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
    every = readings(recorded.runs[0].telemetry)
    meanings = [(reading.label, reading.definition) for reading in every]
    with st.expander("What each number means", type="compact"):
        st.html(render("page/definitions.html", definitions=meanings))


def _row(runs: tuple[SampledRun, ...], row: tuple[Reading, ...]) -> tuple[Cell, ...]:
    cells = [Cell(row[0].label, note=row[0].definition)]
    for number, reading in enumerate(row):
        change = Change(_change(runs, number, reading.label)) if number else None
        cells.append(Cell(reading.value or "–", note=reading.note, change=change))
    return tuple(cells)


def _change(runs: tuple[SampledRun, ...], number: int, label: str) -> str:
    key = _CHANGES.get(label)
    base = getattr(runs[0].telemetry, key) if key and runs[0].number == 0 else None
    value = getattr(runs[number].telemetry, key) if key else None
    return format_change_between(base, value)


def _clocks(run: SampledRun) -> Cell:
    telemetry, change = run.telemetry, Change() if run.number else None
    names = held_back(telemetry.clock_events)
    tone: Tone = "worse" if telemetry.throttling else ""
    note = clock_sentence(telemetry) if telemetry.clock_events else ""
    return Cell(names, tone, change, note=note)
