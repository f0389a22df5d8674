"""One measure of all variants against the swept value: step time, throughput, memory, compiling."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go

from profiler_core.analysis.sweep.series import Sweep, VariantAtPoint
from profiler_core.analysis.sweep.words import value_text
from profiler_core.figures.names import plotly_text
from profiler_core.figures.sweep.axis import decades, mark_failures, place, value_axis
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_bytes, format_count, format_duration

_HEIGHT_PX, _MARK_PX = 220, 7
# A linear axis hides what is this many times smaller than its largest.
_LOG_FROM = 8.0


@dataclass(frozen=True)
class SweepMeasure:
    """What is drawn. `logarithmic`: where the values span enough, on an axis of factors."""

    title: str
    value: Callable[[Sweep, VariantAtPoint], float | None]
    text: Callable[[float | None], str]
    definition: str
    logarithmic: bool = True


def _compile_ns(_: Sweep, one: VariantAtPoint) -> float | None:
    return None if one.compile.seconds is None else one.compile.seconds * 1e9


MEASURES = (
    SweepMeasure(
        "Step time",
        lambda _, one: one.step_time_ns,
        format_duration,
        "Wall time of a timed round over its steps, without the profiler; the median.",
    ),
    SweepMeasure(
        "Samples a second",
        lambda _, one: one.samples_per_s,
        format_count,
        "Batch size over step time.",
    ),
    SweepMeasure(
        "Peak memory",
        lambda sweep, one: sweep.peak_bytes(one),
        format_bytes,
        "The most that the allocator held from the device; on a CPU, that tensors held at once.",
    ),
    SweepMeasure(
        "Compile time",
        _compile_ns,
        format_duration,
        "With the compiler's cache empty.",
        logarithmic=False,
    ),
)


def has_values(sweep: Sweep, measure: SweepMeasure) -> bool:
    """Is there anything to draw?"""
    return any(measure.value(sweep, one) is not None for p in sweep.points for one in p.variants)


def measure_figure(sweep: Sweep, measure: SweepMeasure, palette: Palette) -> go.Figure:
    """A line for each variant that has the measure; words get marks without a line."""
    figure = new_figure(palette)
    known: list[float] = []
    for number, label in enumerate((sweep.baseline, *(s.label for s in sweep.series))):
        points = [
            (point, value)
            for point in sweep.points
            for one in point.variants
            if one.series == label and (value := measure.value(sweep, one)) is not None
        ]
        known += [value for _, value in points]
        color = palette.run(number)
        figure.add_scatter(
            x=[place(sweep, point) for point, _ in points],
            y=[value for _, value in points],
            mode="lines+markers" if sweep.points[0].x is not None else "markers",
            line={"color": color, "width": 2},
            marker={
                "color": color,
                "size": _MARK_PX if sweep.points[0].x is not None else _MARK_PX + 3,
                "line": {"width": 1, "color": palette.surface},
            },
            hovertext=[
                f"<b>{plotly_text(label)}</b> at {plotly_text(sweep.label)} "
                f"{plotly_text(value_text(point))}<br>{measure.text(value)}"
                for point, value in points
            ],
            hoverinfo="text",
            showlegend=False,
        )
    mark_failures(figure, sweep, palette, named=False)
    figure.update_layout(
        height=_HEIGHT_PX,
        showlegend=False,
        margin={"t": 10, "r": 12},
        xaxis=value_axis(sweep),
        yaxis=_axis(measure, known),
        hovermode="closest",
    )
    return figure


def _axis(measure: SweepMeasure, known: list[float]) -> dict[str, object]:
    """Factors where the values span several, else from zero; the ticks carry their unit."""
    low, high = min(known, default=0.0), max(known, default=1.0)
    if measure.logarithmic and low > 0 and high / low >= _LOG_FROM:
        ticks = decades(low, high)
        room = (math.log10(high) - math.log10(low)) * 0.15
        return {
            "type": "log",
            "tickvals": ticks,
            "ticktext": [measure.text(tick) for tick in ticks],
            "range": [math.log10(low) - room, math.log10(high) + room],
        }
    step = _step(high)
    ticks = [step * n for n in range(int(high * 1.15 / step) + 1)]
    return {
        "tickvals": ticks,
        "ticktext": ["0" if tick == 0 else measure.text(tick) for tick in ticks],
        "range": [0, high * 1.15 or 1.0],
    }


def _step(high: float) -> float:
    """A round distance that gives three to five ticks."""
    size = 10.0 ** math.floor(math.log10(high / 4)) if high > 0 else 1.0
    return next(size * n for n in (1, 2, 2.5, 5, 10) if size * n >= high / 5)
