"""The axes that all pictures of a sweep share: the values, and what failed at them."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go

from profiler_core.analysis.sweep.series import Sweep, SweepPoint
from profiler_core.analysis.sweep.words import short_failure, value_text
from profiler_core.figures.names import clipped, plotly_text
from profiler_core.figures.theme import Palette

_FEW_DECADES = 50.0
_LONGEST_TICK = 16  # characters of a value
_ROOM = 0.12  # beyond the first and the last value, of their span
_STRIP = 0.11  # of the height, below the plot, for the marks of what failed


def place(sweep: Sweep, point: SweepPoint) -> float:
    """Where a point lies: at the logarithm of its size, or one after another where it has none.

    A value at which nothing was measured lies no further off than measured ones lie from each
    other: one that is far too large would else press all the others together.
    """
    return _places(sweep)[sweep.points.index(point)]


def _places(sweep: Sweep) -> list[float]:
    sizes = [math.log10(point.x) for point in sweep.points if point.x is not None]
    if len(sizes) < len(sweep.points):
        return [float(n) for n in range(len(sweep.points))]
    measured = [any(one.step_time_ns is not None for one in p.variants) for p in sweep.points]
    known = [size for size, is_measured in zip(sizes, measured, strict=True) if is_measured]
    furthest = max((b - a for a, b in pairwise(known)), default=1.0)
    places = sizes[:1]
    for n, (before, after) in enumerate(pairwise(sizes)):
        whole = measured[n] and measured[n + 1]
        places.append(places[-1] + (after - before if whole else min(after - before, furthest)))
    return places


def value_axis(sweep: Sweep) -> dict[str, Any]:
    """The swept values, each with its own tick.

    The axis is linear in `place`, so that shapes keep their own words on it.
    """
    places = [place(sweep, point) for point in sweep.points]
    span = (places[-1] - places[0]) or 1.0
    room = span * _ROOM if sweep.points[0].x is not None else 0.5
    return {
        "tickvals": places,
        "ticktext": [plotly_text(clipped(value_text(p), _LONGEST_TICK)) for p in sweep.points],
        "range": [places[0] - room, places[-1] + room],
        "title": {"text": plotly_text(sweep.label)},
        "showgrid": False,
    }


def mark_failures(figure: go.Figure, sweep: Sweep, palette: Palette, *, named: bool) -> None:
    """A cross for each value at which a variant failed, in a strip of its own below the plot.

    Call it last: it makes room below the axis of the measure.
    """
    failed = [(point, _who(point)) for point in sweep.points]
    failed = [(point, said) for point, said in failed if said]
    if not failed:
        return
    figure.add_scatter(
        x=[place(sweep, point) for point, _ in failed],
        y=[0.5] * len(failed),
        yaxis="y2",
        mode="markers+text" if named else "markers",
        marker={"symbol": "x-thin", "size": 9, "line": {"width": 2, "color": palette.worse}},
        text=[f" {plotly_text(_short(point))} " for point, _ in failed],
        textposition=[_text_place(sweep, point) for point, _ in failed],
        textfont={"size": 12, "color": palette.worse},
        hovertext=[
            f"<b>{plotly_text(sweep.label)} {plotly_text(value_text(point))}</b><br>"
            + "<br>".join(plotly_text(clipped(line, 110)) for line in said)
            for point, said in failed
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
    """Words in the right half go to the left, where there is room."""
    is_right = sweep.points.index(point) * 2 >= len(sweep.points)
    return "middle left" if is_right else "middle right"


def _who(point: SweepPoint) -> list[str]:
    """A line for each variant that did not finish."""
    return [
        f"{one.series}: {one.error or one.status}"
        for one in point.variants
        if short_failure(one) is not None
    ]


def _short(point: SweepPoint) -> str:
    """What happened, in few words; with how many, where it was not all."""
    whats = [what for one in point.variants if (what := short_failure(one)) is not None]
    what = whats[0] if len(set(whats)) == 1 else "failed"
    n = len(point.variants)
    return what if len(whats) == n else f"{len(whats)} of {n} {what}"
