"""Step time against compile time: what to take for a short job and for a long one."""

from collections.abc import Sequence

import plotly.graph_objects as go

from profiler_core.analysis.experiment.leading import Leader
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.model.experiment import Experiment, Trial
from profiler_core.units import format_duration

_HEIGHT_PX, _MARK_PX = 340, 10
_LONGEST_NAME = 34  # characters of a setting
_MS = 1e-6


def cost_figure(experiment: Experiment, leader: Leader, palette: Palette) -> go.Figure:
    """One mark for each setting that was timed, with where its step time would lie again."""
    figure = new_figure(palette)
    timed = timed_trials(experiment)
    wins = None if leader.is_baseline else leader.trial  # where eager wins, no mark stands out
    leads = None if wins is None else wins.variant
    figure.add_scatter(
        x=[trial.first_call_s for trial in timed],
        y=[(trial.step_ns or 0.0) * _MS for trial in timed],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [_beyond(trial, trial.step_high_ns) for trial in timed],
            "arrayminus": [_beyond(trial, trial.step_low_ns) for trial in timed],
            "color": palette.muted,
            "thickness": 1.5,
            "width": 4,
        },
        mode="markers+text",
        text=[f"  {plotly_text(clipped(trial.variant, _LONGEST_NAME))}  "
              if trial.variant == leads else "" for trial in timed],
        textposition=_sides(timed),
        marker={
            "color": [palette.run(1) if t.variant == leads else palette.surface for t in timed],
            "size": _MARK_PX,
            "line": {"width": 2, "color": palette.run(1)},
        },
        hovertext=[_hover(trial) for trial in timed],
        hoverinfo="text",
        showlegend=False,
    )  # fmt: skip
    baseline_ns = next((b.baseline_ns for b in reversed(experiment.batches) if b.baseline_ns), None)
    if baseline_ns is not None:
        figure.add_hline(
            y=baseline_ns * _MS,
            line={"color": palette.run(0), "width": 1.5, "dash": "dot"},
            annotation_text="eager",
            annotation_position="top right",
        )
    figure.update_layout(
        height=_HEIGHT_PX,
        margin={"t": 26, "r": 12},
        xaxis={"title": {"text": "first call, compilation included (s)"}, "rangemode": "tozero"},
        yaxis={"title": {"text": "step time (ms)"}, "rangemode": "tozero"},
        hovermode="closest",
    )
    return figure


def _sides(timed: Sequence[Trial]) -> list[str]:
    """On which side of its mark each name has room: its interval lies above and below."""
    first_s = [trial.first_call_s or 0.0 for trial in timed]
    middle_s = max(first_s, default=0.0) / 2
    return ["middle left" if seconds > middle_s else "middle right" for seconds in first_s]


def timed_trials(experiment: Experiment) -> list[Trial]:
    """Those that have both a step time and a first call, each setting once."""
    by_variant = {
        trial.variant: trial
        for trial in reversed(experiment.trials)
        if trial.step_ns is not None and trial.first_call_s is not None
    }
    return list(reversed(by_variant.values()))


def _beyond(trial: Trial, end_ns: float | None) -> float:
    return 0.0 if end_ns is None or trial.step_ns is None else abs(end_ns - trial.step_ns) * _MS


def _hover(trial: Trial) -> str:
    first = format_duration((trial.first_call_s or 0.0) * 1e9)
    return f"{plotly_text(trial.variant)}<br>{format_duration(trial.step_ns)}, first call {first}"
