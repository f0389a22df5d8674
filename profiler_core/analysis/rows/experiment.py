"""The trials of an experiment as rows of a table."""

from collections.abc import Sequence

from profiler_core.analysis.experiment.leading import Leader
from profiler_core.analysis.experiment.realised import predictions_of
from profiler_core.analysis.rows.table import Cell, Table, Tone
from profiler_core.analysis.wording.experiment import (
    breaks_lines,
    gain_lines,
    interval_lines,
    outcome,
    setting_name,
)
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.model.experiment import Experiment, Gain, Trial
from profiler_core.units import format_bytes, format_difference, format_duration, format_ratio

HEADS = (
    "Setting", "Outcome", "Step", "Predicted", "Saved", "Speed-up", "First call", "Memory",
    "Graph breaks", "Answers", "Change by group, profiled",
)  # fmt: skip
_MOST_MOVED = 3
_LONGEST_GROUP = 24  # characters of a group's name


def trials_table(experiment: Experiment, leader: Leader) -> Table:
    """One row for each trial, in the order in which they were made; empty columns are left out."""
    rows = [
        _row(
            trial,
            leader,
            setting_name(batch.held_against(trial), experiment),
            predictions_of(trial, batch, experiment),
            breaks_lines(trial, batch.held_against(trial), experiment),
        )
        for batch in experiment.batches
        for trial in batch.trials
    ]
    used = [
        n
        for n in range(len(HEADS))
        if n < 3 or any(row[n].text not in ("", "–", "0") for row in rows)
    ]
    return Table(tuple(HEADS[n] for n in used), tuple(tuple(row[n] for n in used) for row in rows))


def _row(
    trial: Trial, leader: Leader, other: str, predicted: Sequence[Gain], breaks: Sequence[str]
) -> tuple[Cell, ...]:
    first_ns = None if trial.first_call_s is None else trial.first_call_s * 1e9
    return (
        Cell(trial.variant, is_code=True),
        Cell(outcome(trial, leader, other), _tone(trial)),
        Cell(format_duration(trial.step_ns)),
        _predicted_cell(predicted),
        _saved_cell(trial, other),
        _speedup_cell(trial),
        Cell(format_duration(first_ns)),
        Cell(format_bytes(trial.peak_bytes)),
        Cell(breaks[0], below=tuple(breaks[1:])) if breaks else Cell("–"),
        Cell(trial.numerics or "–", "worse" if trial.numerics == "wrong" else ""),
        _moved(trial),
    )


def _predicted_cell(predicted: Sequence[Gain]) -> Cell:
    """What findings say of it against the setting that *Saved* names."""
    if not predicted:
        return Cell("–")
    gain, *below = gain_lines(predicted[0])
    titles = " ".join(dict.fromkeys(gain.title for gain in predicted))
    return Cell(gain, below=tuple(below), note=titles)


def _moved(trial: Trial) -> Cell:
    """The groups that changed most, their names cut in the middle; whole in the note."""
    moved = [
        (entry.title, format_difference(entry.delta_ns)) for entry in trial.moved[:_MOST_MOVED]
    ]
    if not moved:
        return Cell("–")
    first, *others = [f"{clipped(title, _LONGEST_GROUP)} {delta}" for title, delta in moved]
    whole = "; ".join(f"{title} {delta}" for title, delta in moved)
    return Cell(first, below=tuple(others), note=whole)


def _saved_cell(trial: Trial, other: str) -> Cell:
    """What it saves per step, and against which setting: not always that of the speed-up."""
    if trial.realised_ns is None:
        return Cell("–")
    return Cell(
        saved_text(trial),
        _tone(trial),
        below=(f"against {other}",),
        note="per step; below 0 it costs time",
    )


def saved_text(trial: Trial) -> str:
    """What it saves per step against the setting that it was held against."""
    saved_ns = trial.realised_ns
    # No plus: the groups beside it, whose times are said to change, have one where they take more.
    is_loss = saved_ns is not None and saved_ns < 0
    return format_difference(saved_ns) if is_loss else format_duration(saved_ns)


def _speedup_cell(trial: Trial) -> Cell:
    """Against eager; of how few rounds, where it was stopped before the others."""
    speedup = trial.speedup
    if speedup is None:
        return Cell("–")
    below = interval_lines(speedup)
    if trial.status == "stopped early":
        below = (*below, f"of {trial.n_rounds} rounds")
    return Cell(format_ratio(speedup.ratio), below=below, note="against eager, 95 % interval")


def _tone(trial: Trial) -> Tone:
    against = trial.against
    if trial.status == "failed" or trial.numerics == "wrong":
        return "worse"
    if against is None:
        return ""
    if trial.status == "stopped early":  # it lost, if only against one that was tried beside it
        return "worse" if against.is_slower else "muted"
    return "better" if against.is_faster else "worse" if against.is_slower else "muted"
