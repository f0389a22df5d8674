"""How far apart the ranks arrive at each collective of a step, in launch order."""

from collections.abc import Sequence

import plotly.graph_objects as go

from profiler_core.analysis.ranks.matching import Arrival
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_bytes, format_duration, format_share

MOST_MARKS = 600  # of one job; those of the largest skew are drawn
_HEIGHT_PX = 250


def ranks_arrivals(
    jobs: Sequence[tuple[int, str, Sequence[Arrival]]], palette: Palette
) -> go.Figure:
    """One bar for each collective and job.

    Args:
        jobs: (number of the run, name, its collectives).
        palette: the mode's colours.
    """
    figure = new_figure(palette)
    largest = max((a.skew_ns for _, _, arrivals in jobs for a in arrivals), default=0.0)
    factor, unit = (1e-6, "ms") if largest >= 1e6 else (1e-3, "µs")
    for number, name, arrivals in jobs:
        drawn = sorted(arrivals, key=lambda a: -a.skew_ns)[:MOST_MARKS]
        drawn.sort(key=lambda a: a.place)
        figure.add_bar(
            x=[a.place for a in drawn],
            y=[a.skew_ns * factor for a in drawn],
            name=plotly_text(name),
            marker={"color": palette.run(number)},
            hovertext=[_hover(name, a) for a in drawn],
            hoverinfo="text",
        )
    n = max((a.place for _, _, arrivals in jobs for a in arrivals), default=1)
    figure.update_layout(
        barmode="group",
        bargap=0.3,
        height=_HEIGHT_PX,
        showlegend=False,
        margin={"t": 8, "b": 40},
        xaxis={
            "title": {"text": "collective of a step, in launch order"},
            "range": [0.4, n + 0.6],
            "dtick": max(1, round(n / 12)),
            "showgrid": False,
        },
        yaxis={"title": {"text": f"first to last arrival, {unit}"}, "rangemode": "tozero"},
    )
    return figure


def _hover(name: str, arrival: Arrival) -> str:
    size = f" · {format_bytes(arrival.bytes)}" if arrival.bytes is not None else ""
    steps = f"{format_share(arrival.last_share)} of {arrival.n_steps} steps"
    return (
        f"<b>{plotly_text(name)}</b><br>{arrival.label} {arrival.place}{size}"
        f"<br>first to last arrival: {format_duration(arrival.skew_ns)}"
        f"<br>last: rank {arrival.last_rank}, in {steps}"
    )
