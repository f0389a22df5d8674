"""One measure of all variants against the swept value: step time, throughput, memory, compiling."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from profiler_core.analysis.sweep.series import Sweep, SweepPoint, VariantAtPoint
from profiler_core.analysis.wording.sweep import value_text
from profiler_core.figures.names import plotly_text
from profiler_core.figures.sweep.axis import decades, mark_failures, value_axis, x_position
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_bytes, format_duration, format_rate

_HEIGHT_PX, _MARK_PX = 220, 7
# A linear axis hides what is this many times smaller than its largest.
_LOG_FROM = 8.0


@dataclass(frozen=True)
class SweepMeasure:
    """What is drawn. `logarithmic`: where the values span enough, on an axis of factors."""

    title: str
    value: Callable[[Sweep, VariantAtPoint], float | None]
    text: Callable[[float | None], str]
    definition: Callable[[Sweep], str]
    logarithmic: bool = True


def _compile_ns(_: Sweep, variant: VariantAtPoint) -> float | None:
    return None if variant.compile.seconds is None else variant.compile.seconds * 1e9


MEASURES = (
    SweepMeasure(
        "Step time",
        lambda _, variant: variant.step_time_ns,
        format_duration,
        lambda _: "Without the profiler, the median over the rounds.",
    ),
    SweepMeasure(
        "Samples per second",
        lambda _, variant: variant.samples_per_s,
        format_rate,
        lambda _: "Batch size, times the batches of one step, over step time.",
    ),
    SweepMeasure(
        "Tokens per second",
        lambda _, variant: variant.tokens_per_s,
        format_rate,
        lambda _: "What one step decodes over its whole batch, over step time.",
    ),
    SweepMeasure(
        "Peak memory",
        lambda sweep, variant: sweep.peak_bytes(variant),
        format_bytes,
        lambda sweep: (
            "The most memory that the allocator reserved on the device."
            if sweep.peak_is_reserved
            else "The most memory that tensors occupied at one time."
        ),
    ),
    SweepMeasure(
        "Compile time",
        _compile_ns,
        format_duration,
        lambda _: "With an empty compiler cache.",
        logarithmic=False,
    ),
)


def has_values(sweep: Sweep, measure: SweepMeasure) -> bool:
    """Whether any variant has a value of this measure."""
    return any(
        measure.value(sweep, variant) is not None for p in sweep.points for variant in p.variants
    )


def measure_figure(sweep: Sweep, measure: SweepMeasure, palette: Palette) -> go.Figure:
    """A line for each variant that has the measure; bars where the values are words."""
    figure = new_figure(palette)
    drawn: list[float] = []
    for number, label in enumerate((sweep.baseline, *(s.label for s in sweep.series))):
        points = [
            (point, value)
            for point in sweep.points
            for variant in point.variants
            if variant.series == label and (value := measure.value(sweep, variant)) is not None
        ]
        drawn += [value for _, value in points]
        hover = [
            f"<b>{plotly_text(label)}</b> at {plotly_text(sweep.label)} "
            f"{plotly_text(value_text(point))}<br>{measure.text(value)}"
            for point, value in points
        ]
        _draw(figure, sweep, points, hover, palette.run(number), palette)
    figure.update_layout(
        height=_HEIGHT_PX,
        showlegend=False,
        margin={"t": 10, "r": 12},
        xaxis=value_axis(sweep),
        yaxis=_axis(measure, drawn, may_be_log=_has_distance(sweep)),
        hovermode="closest",
        bargap=0.5,
    )
    mark_failures(figure, sweep, palette, with_names=False)
    return figure


def _draw(
    figure: go.Figure,
    sweep: Sweep,
    points: Sequence[tuple[SweepPoint, float]],
    hover: list[str],
    color: str,
    palette: Palette,
) -> None:
    """A line where values have a distance, bars beside each other where they are words."""
    x, y = [x_position(sweep, point) for point, _ in points], [value for _, value in points]
    shared = {"x": x, "y": y, "hovertext": hover, "hoverinfo": "text", "showlegend": False}
    if not _has_distance(sweep):
        figure.add_bar(**shared, marker={"color": color})
        return
    figure.add_scatter(
        **shared,
        mode="lines+markers",
        line={"color": color, "width": 2},
        marker={
            "color": color,
            "size": _MARK_PX,
            "line": {"width": 1, "color": palette.surface},
        },
    )


def _has_distance(sweep: Sweep) -> bool:
    return sweep.points[0].x is not None


def _axis(measure: SweepMeasure, values: list[float], *, may_be_log: bool) -> dict[str, object]:
    """Factors where the values span several, else from zero; the ticks carry their unit."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if may_be_log and measure.logarithmic and low > 0 and high / low >= _LOG_FROM:
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
