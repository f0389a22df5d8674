"""The kernels with the most time, all runs beside each other."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from profiler_core.analysis.item import kernel_item
from profiler_core.analysis.kernel_names import kernel_labels
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_count, format_duration

_MOST_ROWS = 8
_BAR_PX, _NAME_PX, _REST_PX = 11, 24, 86
_LONGEST_NAME = 52  # characters: what a phone has room for
_HOVER, _HOVER_LINE = 360, 60  # characters of a name, and of a line: what fits beside a dossier


def kernel_bars(
    labels: Sequence[str],
    rows: Sequence[KernelRow],
    palette: Palette,
    *,
    order: Sequence[int] | None = None,
    span: Span = PER_STEP,
    beside: Mapping[int, int] | None = None,
) -> go.Figure:
    """Horizontal bars of the time of the first rows, one bar a run, longest on top.

    Each bar's custom data is the dossier of its kernel.

    Args:
        labels: of the runs.
        rows: their kernels.
        palette: of the page.
        order: places of the runs, the first one's bar on top; None: as they are given.
        span: what the times are of.
        beside: place of a run here -> the candidate beside which its bars' dossiers tell.
    """
    figure = new_figure(palette)
    shown = rows[:_MOST_ROWS]
    longest = max((row.most_ns for row in shown), default=0.0)
    factor, unit = (1e-6, "ms") if longest >= 1e6 else (1e-3, "µs")
    positions = list(range(len(shown)))
    for run in range(len(labels)) if order is None else order:
        label = labels[run]
        figure.add_bar(
            y=positions,
            x=[row.time_ns(run) * factor for row in shown],
            orientation="h",
            name=plotly_text(label),
            marker={"color": palette.run(run)},
            customdata=[
                kernel_item(row.name).beside((beside or {}).get(run)).text for row in shown
            ],
            hovertext=[_hover(label, row, run, span) for row in shown],
            hoverinfo="text",
        )
    names = kernel_labels([row.name for row in shown], _LONGEST_NAME)
    for position, name in enumerate(names):
        # Above its bars, not beside the axis: names are long, and the width is for time.
        text = plotly_text(name)
        figure.add_annotation(x=0, y=position, text=text, xanchor="left", yanchor="bottom")
    shift = _BAR_PX * len(labels) / 2 + 1
    figure.update_annotations(
        showarrow=False, yshift=shift, font={"size": 12, "color": palette.ink}
    )
    pitch = _BAR_PX * len(labels) + _NAME_PX
    figure.update_layout(
        barmode="group",
        bargap=_NAME_PX / pitch,
        bargroupgap=0.06,
        height=len(shown) * pitch + _REST_PX,
        margin={"l": 8},  # half of the axis's 0, which is left out where it has no room
        xaxis={"title": {"text": f"time {span}, {unit}"}, "rangemode": "tozero"},
        yaxis={"range": [len(shown) - 0.5, -0.5 - 0.5 * _NAME_PX / pitch], "visible": False},
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
    )
    return figure


def _hover(label: str, row: KernelRow, run: int, span: str) -> str:
    pieces = (
        row.name[i : i + _HOVER_LINE] for i in range(0, min(len(row.name), _HOVER), _HOVER_LINE)
    )
    name = "<br>".join(plotly_text(piece) for piece in pieces)
    side = row.sides[run]
    if side is None:
        return f"{name}<br><b>{plotly_text(label)}</b>: does not run here"
    return (
        f"{name}<br><b>{plotly_text(label)}</b>: {format_duration(side.time_ns)} {span}"
        f" · {format_count(side.n)} × {format_duration(side.mean_ns)}"
    )
