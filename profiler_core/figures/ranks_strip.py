"""Hundreds or thousands of ranks: one column for neighbours, darker where the time is longer."""

from collections.abc import Sequence

import plotly.graph_objects as go

from profiler_core.analysis.item import rank_item
from profiler_core.analysis.ranks.strip import QUANTITIES, Column, columns_of
from profiler_core.figures.rank_blocks import RanksOfRun, add_cells, axis_suffix, place_block
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_duration

MOST_COLUMNS = 256  # seven rows of them are 1792 cells
_ROW_PX, _TITLE_PX, _AXIS_PX = 26, 28, 46
_TELLING_SHARE = 0.02  # of the step
_STEP = [key for key, _ in QUANTITIES].index("step_ns")


def ranks_strip(jobs: Sequence[RanksOfRun], palette: Palette) -> go.Figure:
    """One block of rows for each job; each row has its own scale, shared by all jobs.

    A row whose values differ by less than 2 % of the longest step does not use all of its scale.

    Args:
        jobs: their ranks in order.
        palette: the mode's colours.
    """
    figure = new_figure(palette)
    rows = len(QUANTITIES)
    height = len(jobs) * (rows * _ROW_PX + _TITLE_PX) + _AXIS_PX
    blocks = [(job, columns_of(job.rows, MOST_COLUMNS)) for job in jobs]
    spans = [_span(blocks, number) for number in range(rows)]
    least_room = _TELLING_SHARE * spans[_STEP][1]
    plot = height - _AXIS_PX
    for index, (job, columns) in enumerate(blocks):
        top = 1 - index * (rows * _ROW_PX + _TITLE_PX) / plot - _TITLE_PX / plot
        suffix = axis_suffix(index)
        shades = [
            [_shade(column.values[number], spans[number], least_room) for column in columns]
            for number in range(rows)
        ]
        figure.add_heatmap(
            x=[column.first_rank for column in columns],
            y=[label for _, label in QUANTITIES],
            z=shades,
            zmin=0,
            zmax=1,
            colorscale=[[0, palette.raised], [1, palette.accent]],
            showscale=False,
            xgap=0,
            ygap=2,
            hoverinfo="skip",
            xaxis=f"x{suffix}",
            yaxis=f"y{suffix}",
        )
        add_cells(
            figure,
            suffix,
            [column.first_rank for column in columns],
            [label for _, label in QUANTITIES],
            [
                [_hover(column, number, label) for column in columns]
                for number, (_, label) in enumerate(QUANTITIES)
            ],
            [
                [rank_item(job.run, column.ranks[number]).text for column in columns]
                for number in range(rows)
            ],
        )
        place_block(
            figure,
            index,
            (top - rows * _ROW_PX / plot, top),
            job.name,
            palette,
            is_last=index == len(jobs) - 1,
        )
    figure.update_layout(height=height, margin={"t": 0, "b": _AXIS_PX, "r": 16})
    return figure


def _span(
    blocks: Sequence[tuple[RanksOfRun, Sequence[Column]]], number: int
) -> tuple[float, float]:
    values = [column.values[number] for _, columns in blocks for column in columns]
    return min(values, default=0.0), max(values, default=0.0)


def _shade(value: float, span: tuple[float, float], least_room: float) -> float:
    """The value's position in the span, 0 to 1; a span below `least_room` counts as that."""
    least, most = span
    room = max(most - least, least_room)
    return (value - least) / room if room else 0.0


def _hover(column: Column, number: int, label: str) -> str:
    ranks = f"ranks {column.first_rank} to {column.last_rank}"
    if column.first_rank == column.last_rank:
        ranks = f"rank {column.first_rank}"
    rank_text = "" if column.first_rank == column.last_rank else f" (rank {column.ranks[number]})"
    return f"<b>{ranks}</b><br>{label}: {format_duration(column.values[number])}{rank_text}"
