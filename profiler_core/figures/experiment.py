"""Step time against compile time: what to take for a short job and for a long one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from profiler_core.analysis.experiment.leading import Leader
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.figures.label_boxes import Box
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.model.experiment import Experiment, Trial
from profiler_core.units import format_duration

_HEIGHT_PX, _MARK_PX = 340, 10
_LONGEST_NAME = 34  # characters of a setting
_MS = 1e-6

# For the places of labels: of a plot on a phone, in half a window, and in a whole one.
_PLOT_WIDTHS_PX, _PLOT_HEIGHT_PX = (300, 560, 940), 264
_CHARACTER_PX, _LINE_PX = 7.3, 13
_FROM_MARK_PX = 7.25  # where Plotly begins a label beside a mark of `_MARK_PX`
_APART_PX = 2


def cost_figure(experiment: Experiment, leader: Leader, palette: Palette) -> go.Figure:
    """One mark for each setting that was timed, with where its step time would lie again."""
    figure = new_figure(palette)
    timed = timed_trials(experiment)
    wins = None if leader.is_baseline else leader.trial  # where eager wins, no mark stands out
    leads = None if wins is None else wins.variant
    names = [
        f"  {clipped(trial.variant, _LONGEST_NAME)}  " if trial.variant == leads else ""
        for trial in timed
    ]
    baseline_ns = next((b.baseline_ns for b in reversed(experiment.batches) if b.baseline_ns), None)
    places = [_Places.of(timed, baseline_ns, width_px) for width_px in _PLOT_WIDTHS_PX]
    sides = [_side(number, name, places) for number, name in enumerate(names)]
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
        text=[plotly_text(name) for name in names],
        textposition=sides,
        marker={
            "color": [palette.run(1) if t.variant == leads else palette.surface for t in timed],
            "size": _MARK_PX,
            "line": {"width": 2, "color": palette.run(1)},
        },
        hovertext=[_hover(trial) for trial in timed],
        hoverinfo="text",
        showlegend=False,
    )  # fmt: skip
    if baseline_ns is not None:
        figure.add_hline(
            y=baseline_ns * _MS,
            line={"color": palette.run(0), "width": 1.5, "dash": "dot"},
            annotation_text=_EAGER,
            annotation_position=_side_of_line(names, sides, places),
        )
    figure.update_layout(
        height=_HEIGHT_PX,
        margin={"t": 26, "r": 12},
        xaxis={
            "title": {"text": "first call, compilation included (s)"},
            "range": [0, _ends(timed, baseline_ns)[0]],
        },
        yaxis={
            "title": {"text": "step time (ms)"},
            "range": [0, _ends(timed, baseline_ns)[1] * _MS],
        },
        hovermode="closest",
    )
    return figure


@dataclass(frozen=True)
class _Places:
    """Where the marks of a plot of one width lie, and what labels must leave free."""

    width_px: float
    marks: tuple[tuple[float, float], ...]  # the middles
    taken: tuple[Box, ...]  # marks and their intervals
    line_px: float | None  # the height of the baseline's

    @classmethod
    def of(cls, timed: Sequence[Trial], baseline_ns: float | None, width_px: float) -> "_Places":
        end_s, end_ns = _ends(timed, baseline_ns)
        per_s, per_ns = width_px / end_s, _PLOT_HEIGHT_PX / end_ns
        marks, taken = [], []
        for trial in timed:
            step_ns = trial.step_ns or 0.0
            x, y = (trial.first_call_s or 0.0) * per_s, step_ns * per_ns
            low, high = (
                (end or step_ns) * per_ns for end in (trial.step_low_ns, trial.step_high_ns)
            )
            half = _MARK_PX / 2 + 1
            marks.append((x, y))
            taken.append(Box(x - half, x + half, y - half, y + half))
            taken.append(Box(x - half, x + half, low, high))
        line_px = None if baseline_ns is None else baseline_ns * per_ns
        return cls(width_px, tuple(marks), tuple(taken), line_px)

    def cost(self, label: Box, *, more: Iterable[Box] = ()) -> int:
        """How much a label lies upon, its own mark aside: marks before the line of the baseline."""
        is_outside = (
            label.left < 0
            or label.right > self.width_px
            or label.bottom < 0
            or label.top > _PLOT_HEIGHT_PX
        )
        line = [] if self.line_px is None else [Box(0, self.width_px, self.line_px, self.line_px)]
        return (
            16 * is_outside
            + 4 * sum(label.overlaps(box, _APART_PX) for box in (*self.taken, *more))
            + sum(label.overlaps(box, _APART_PX) for box in line)
        )

    def beside(self, number: int, name: str, side: str) -> Box:
        """The label of a mark, as Plotly lays it for a `textposition`."""
        x, y = self.marks[number]
        height, way = side.split(" ")
        width = _CHARACTER_PX * len(name.strip())
        left = x + 2 * _FROM_MARK_PX if way == "right" else x - 2 * _FROM_MARK_PX - width
        bottom = {
            "middle": y - _LINE_PX / 2,
            "top": y + _FROM_MARK_PX,
            "bottom": y - _FROM_MARK_PX - _LINE_PX,
        }[height]
        return Box(left, left + width, bottom, bottom + _LINE_PX)

    def at_line(self, side: str) -> Box:
        """The name of the baseline at one end of its line, above or below it."""
        height, way = side.split(" ")
        width, line = _CHARACTER_PX * len(_EAGER), self.line_px or 0.0
        left = self.width_px - width if way == "right" else 0.0
        bottom = line + 3 if height == "top" else line - 3 - _LINE_PX
        return Box(left, left + width, bottom, bottom + _LINE_PX)


_EAGER = "eager"
_AT_LINE = ("top right", "bottom right", "top left", "bottom left")


def _ends(timed: Sequence[Trial], baseline_ns: float | None) -> tuple[float, float]:
    """The ends of the axes, seconds and nanoseconds, with room beyond the last mark."""
    last_s = max((trial.first_call_s or 0.0 for trial in timed), default=0.0)
    steps = [max(trial.step_ns or 0.0, trial.step_high_ns or 0.0) for trial in timed]
    return (last_s or 1.0) * 1.05, (max([*steps, baseline_ns or 0.0]) or 1.0) * 1.12


def _side(number: int, name: str, places: Sequence[_Places]) -> str:
    """On which side of its mark a name has room: its own interval lies above and below."""
    first = places[0]
    middle = max((x for x, _ in first.marks), default=0.0) / 2
    ways = ("left", "right") if first.marks[number][0] > middle else ("right", "left")
    sides = [f"{height} {way}" for way in ways for height in ("middle", "top", "bottom")]
    if not name:
        return sides[0]
    return min(
        sides,
        key=lambda side: sum(place.cost(place.beside(number, name, side)) for place in places),
    )


def _side_of_line(names: Sequence[str], sides: Sequence[str], places: Sequence[_Places]) -> str:
    """Where at its line the name of the baseline lies upon no mark and no other name."""

    def cost(side: str) -> int:
        return sum(
            place.cost(
                place.at_line(side),
                more=[
                    place.beside(number, name, sides[number])
                    for number, name in enumerate(names)
                    if name
                ],
            )
            for place in places
        )

    return min(_AT_LINE, key=cost)


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
