"""The axes that all pictures of a sweep share: the values, and what failed at them."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go

from profiler_core.analysis.sweep.series import Sweep, SweepPoint
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.analysis.wording.sweep import short_failure, value_text
from profiler_core.figures.names import plotly_text
from profiler_core.figures.theme import Palette

_FEW_DECADES = 50.0
_LONGEST_TICK = 16  # characters of a value
_ROOM = 0.12  # beyond the first and the last value, of their span
_STRIP = 0.11  # of the height, below the plot, for the marks of what failed


def x_position(sweep: Sweep, point: SweepPoint) -> float:
    """The x of a point: the logarithm of its size, or its index where a value has no size.

    A value at which nothing was measured lies no further off than measured ones lie from each
    other: one that is far too large would else press all the others together.
    """
    return _x_positions(sweep)[sweep.points.index(point)]


def _x_positions(sweep: Sweep) -> list[float]:
    sizes = [math.log10(point.x) for point in sweep.points if point.x is not None]
    if len(sizes) < len(sweep.points):
        return [float(n) for n in range(len(sweep.points))]
    measured = [
        any(variant.step_time_ns is not None for variant in p.variants) for p in sweep.points
    ]
    measured_sizes = [
        size for size, is_measured in zip(sizes, measured, strict=True) if is_measured
    ]
    furthest = max((b - a for a, b in pairwise(measured_sizes)), default=1.0)
    positions = sizes[:1]
    for n, (before, after) in enumerate(pairwise(sizes)):
        both_measured = measured[n] and measured[n + 1]
        positions.append(
            positions[-1] + (after - before if both_measured else min(after - before, furthest))
        )
    return positions


def value_axis(sweep: Sweep) -> dict[str, Any]:
    """The swept values, each with its own tick.

    The axis is linear in `x_position`, so that shapes keep their own words on it.
    """
    positions = [x_position(sweep, point) for point in sweep.points]
    span = (positions[-1] - positions[0]) or 1.0
    room = span * _ROOM if sweep.points[0].x is not None else 0.5
    return {
        "tickvals": positions,
        "ticktext": [plotly_text(clipped(value_text(p), _LONGEST_TICK)) for p in sweep.points],
        "range": [positions[0] - room, positions[-1] + room],
        "title": {"text": plotly_text(sweep.label)},
        "showgrid": False,
    }


def mark_failures(figure: go.Figure, sweep: Sweep, palette: Palette, *, with_names: bool) -> None:
    """A cross for each value at which a variant failed, in a strip of its own below the plot.

    Call it last: it makes room below the axis of the measure.
    """
    failed = [(point, _failure_lines(point)) for point in sweep.points]
    failed = [(point, lines) for point, lines in failed if lines]
    if not failed:
        return
    figure.add_scatter(
        x=[x_position(sweep, point) for point, _ in failed],
        y=[0.5] * len(failed),
        yaxis="y2",
        mode="markers+text" if with_names else "markers",
        marker={"symbol": "x-thin", "size": 9, "line": {"width": 2, "color": palette.worse}},
        text=[f" {plotly_text(_short(point))} " for point, _ in failed],
        textposition=[_text_place(sweep, point) for point, _ in failed],
        textfont={"size": 12, "color": palette.worse},
        hovertext=[
            f"<b>{plotly_text(sweep.label)} {plotly_text(value_text(point))}</b><br>"
            + "<br>".join(plotly_text(clipped(line, 110)) for line in lines)
            for point, lines in failed
        ],
        hoverinfo="text",
        showlegend=False,
        cliponaxis=False,
    )
    figure.update_layout(
        xaxis={"anchor": "y2"},
        yaxis={"domain": [_STRIP, 1]},
        yaxis2={"domain": [0, _STRIP], "range": [0, 1], "visible": False, "fixedrange": True},
    )


def decades(low: float, high: float) -> list[float]:
    """Ticks of a logarithmic axis: 1, 2, 5 of each decade; only 1 where there are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps: Sequence[float] = (1, 2, 5) if high / low <= _FEW_DECADES else (1,)
    return [step * 10.0**decade for decade in range(first, last + 1) for step in steps]


def _text_place(sweep: Sweep, point: SweepPoint) -> str:
    """Text position of a label: left of points in the right half, where there is room."""
    is_right = sweep.points.index(point) * 2 >= len(sweep.points)
    return "middle left" if is_right else "middle right"


def _failure_lines(point: SweepPoint) -> list[str]:
    """A line for each variant that did not finish."""
    return [
        f"{variant.series}: {variant.error or variant.status}"
        for variant in point.variants
        if short_failure(variant) is not None
    ]


def _short(point: SweepPoint) -> str:
    """The failure in few words; with the number of variants where not all failed."""
    reasons = [
        reason for variant in point.variants if (reason := short_failure(variant)) is not None
    ]
    reason = reasons[0] if len(set(reasons)) == 1 else "failed"
    n = len(point.variants)
    return reason if len(reasons) == n else f"{len(reasons)} of {n} {reason}"
