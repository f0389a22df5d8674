"""The trials of an experiment as rows of a table."""

from profiler_core.analysis.experiment.leading import Leader
from profiler_core.analysis.rows.table import Cell, Table, Tone
from profiler_core.analysis.wording.experiment import gain_text, interval, outcome
from profiler_core.model.experiment import Experiment, Trial
from profiler_core.units import format_bytes, format_difference, format_duration, format_ratio

HEADS = (
    "Setting", "Outcome", "Step", "Predicted", "Realised", "Speed-up", "First call", "Memory",
    "Answers", "What moved",
)  # fmt: skip
_MOST_MOVED = 3


def trials_table(experiment: Experiment, leader: Leader) -> Table:
    """One row for each trial, in the order in which they were made; empty columns are left out."""
    rows = [_row(trial, leader) for trial in experiment.trials]
    used = [
        n for n in range(len(HEADS)) if n < 3 or any(row[n].text not in ("", "–") for row in rows)
    ]
    return Table(tuple(HEADS[n] for n in used), tuple(tuple(row[n] for n in used) for row in rows))


def _row(trial: Trial, leader: Leader) -> tuple[Cell, ...]:
    speedup, predicted = trial.speedup, trial.predicted
    first_ns = None if trial.first_call_s is None else trial.first_call_s * 1e9
    return (
        Cell(trial.variant, is_code=True),
        Cell(outcome(trial, leader), _tone(trial)),
        Cell(format_duration(trial.step_ns)),
        Cell(gain_text(predicted[0]) if predicted else "–", note=_said(trial)),
        realised_cell(trial),
        Cell("–")
        if speedup is None
        else Cell(format_ratio(speedup.ratio), below=(interval(speedup),), note="95 % interval"),
        Cell(format_duration(first_ns)),
        Cell(format_bytes(trial.peak_bytes)),
        Cell(trial.numerics or "–", "worse" if trial.numerics == "wrong" else ""),
        _moved(trial),
    )


def _moved(trial: Trial) -> Cell:
    first, *others = [
        f"{moved.title} {format_difference(moved.delta_ns)}" for moved in trial.moved[:_MOST_MOVED]
    ] or ["–"]
    return Cell(first, below=tuple(others))


def realised_cell(trial: Trial) -> Cell:
    """What it saves per step against what it was held against; below 0 it costs time."""
    if trial.realised_ns is None:
        return Cell("–")
    return Cell(format_difference(trial.realised_ns), _tone(trial))


def _tone(trial: Trial) -> Tone:
    against = trial.against
    if trial.status == "failed" or trial.numerics == "wrong":
        return "worse"
    if against is None:
        return ""
    if trial.status == "stopped early":  # it lost, if only against one that was tried beside it
        return "worse" if against.is_slower else "muted"
    return "better" if against.is_faster else "worse" if against.is_slower else "muted"


def _said(trial: Trial) -> str:
    return " ".join(dict.fromkeys(gain.title for gain in trial.predicted))
