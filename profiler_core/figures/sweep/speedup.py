"""The speed-up of each candidate against the swept value, and where it passes 1."""

import math

import plotly.graph_objects as go

from profiler_core.analysis.sweep.crossing import Crossing
from profiler_core.analysis.sweep.series import Sweep, SweepPoint, VariantAtPoint
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.analysis.wording.sweep import place_text, value_text
from profiler_core.figures.names import plotly_text
from profiler_core.figures.sweep.axis import mark_failures, value_axis, x_position
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette

_HEIGHT_PX, _MARK_PX = 310, 9
_LONGEST_NAME = 24  # characters of a candidate
_BESIDE = 0.1  # of the distance of two words


def speedup_figure(sweep: Sweep, palette: Palette) -> go.Figure:
    """Ratios with their 95 % intervals; above the line at 1 the candidate is faster."""
    figure = new_figure(palette)
    highs: list[float] = []
    lows: list[float] = []
    for number, series in enumerate(sweep.series, start=1):
        points = [
            (point, variant, variant.ratio)
            for point in sweep.points
            for variant in point.variants[1:]
            if variant.series == series.label and variant.ratio is not None
        ]
        if not points:
            continue
        color = palette.run(number)
        ends = [variant.interval or (ratio, ratio) for _, variant, ratio in points]
        lows += [low for low, _ in ends]
        highs += [high for _, high in ends]
        figure.add_scatter(
            x=[x_position(sweep, point) + _aside(sweep, number) for point, _, _ in points],
            y=[ratio for _, _, ratio in points],
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [high - r for (_, high), (_, _, r) in zip(ends, points, strict=True)],
                "arrayminus": [r - low for (low, _), (_, _, r) in zip(ends, points, strict=True)],
                "color": color,
                "thickness": 1.5,
                "width": 5,
            },
            mode="lines+markers" if sweep.points[0].x is not None else "markers",
            name=plotly_text(series.label),
            line={"color": color, "width": 2},
            marker={
                "color": [color if variant.verdict == "faster" else palette.surface
                          for _, variant, _ in points],
                "size": _MARK_PX,
                "line": {"width": 2, "color": color},
            },
            hovertext=[_hover(sweep, point, variant, ratio) for point, variant, ratio in points],
            hoverinfo="text",
            showlegend=False,
        )  # fmt: skip
    figure.add_hline(y=1, line={"color": palette.muted, "width": 1.5, "dash": "dot"})
    _mark_crossings(figure, sweep, palette)
    room = max((max([*highs, 1.0]) - min([*lows, 1.0])) * 0.2, 0.05)
    figure.update_layout(
        height=_HEIGHT_PX,
        showlegend=False,
        margin={"t": 26, "r": 12},
        xaxis=value_axis(sweep),
        yaxis={
            "title": {"text": f"times as fast as {plotly_text(sweep.baseline)}"},
            "range": [max(0.0, min([*lows, 1.0]) - room), max([*highs, 1.0]) + room],
            "nticks": 6,
        },
        hovermode="closest",
    )
    mark_failures(figure, sweep, palette, with_names=True)
    return figure


def _aside(sweep: Sweep, number: int) -> float:
    """The x offset that sets candidates beside each other; 0 where the values have sizes."""
    if sweep.points[0].x is not None:
        return 0.0
    return (number - (len(sweep.series) + 1) / 2) * _BESIDE


def _mark_crossings(figure: go.Figure, sweep: Sweep, palette: Palette) -> None:
    """A line where the lower end of the interval passes 1, with its words above the plot."""
    for number, series in enumerate(sweep.series, start=1):
        at = series.crossing.at
        if at is None:
            continue
        x, color = _between(sweep, series.crossing, at), palette.run(number)
        figure.add_shape(
            type="line", x0=x, x1=x, yref="y domain", y0=0, y1=1, layer="below",
            line={"color": color, "width": 1.5, "dash": "dash"},
        )  # fmt: skip
        if number > 1:
            continue  # words of several lines would lie over each other; the headlines have them
        ends = (x_position(sweep, sweep.points[0]), x_position(sweep, sweep.points[-1]))
        figure.add_annotation(
            x=x, yref="y domain", y=1, yanchor="bottom",
            xanchor="left" if x < sum(ends) / 2 else "right",
            text=f"{plotly_text(clipped(series.label, _LONGEST_NAME))} passes 1 at about "
            f"{place_text(at, sweep.name)}",
            showarrow=False,
            font={"size": 12, "color": palette.muted},
        )  # fmt: skip


def _between(sweep: Sweep, crossing: Crossing, at: float) -> float:
    """The x of `at`, interpolated between its neighbours on the logarithmic scale."""
    lower, upper = (sweep.point(index) for index in crossing.between or ())
    low, high = math.log10(lower.x or 1.0), math.log10(upper.x or 1.0)
    share = (math.log10(at) - low) / (high - low)
    start, end = x_position(sweep, lower), x_position(sweep, upper)
    return start + share * (end - start)


def _hover(sweep: Sweep, point: SweepPoint, variant: VariantAtPoint, ratio: float) -> str:
    low, high = variant.interval or (None, None)
    rows = [
        f"<b>{plotly_text(variant.series)}</b> at {plotly_text(sweep.label)} "
        f"{plotly_text(value_text(point))}",
        f"{ratio:.2f} times as fast"
        + ("" if low is None or high is None else f", 95 % interval {low:.2f} to {high:.2f}"),
    ]
    if variant.verdict == "wrong_numerics":
        rows.append("its results are wrong")
    if variant.variant != variant.series:
        rows.append(plotly_text(variant.variant))
    return "<br>".join(rows)
