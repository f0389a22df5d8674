"""Who waited in which step: a heat map of ranks and steps, one block for each job."""

from collections.abc import Sequence
from statistics import median

import plotly.graph_objects as go

from profiler_core.analysis.item import Item, rank_item
from profiler_core.analysis.ranks.rank_row import RankRow
from profiler_core.figures.rank_blocks import (
    RanksOfRun,
    add_cells,
    axis_suffix,
    outline_cell,
    place_block,
)
from profiler_core.figures.ranks_strip import MOST_COLUMNS
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_duration

MOST_STEPS = 24
_ROW_PX, _TITLE_PX, _AXIS_PX = 22, 30, 46


def ranks_waiting(
    jobs: Sequence[RanksOfRun], palette: Palette, opened: Item | None = None
) -> go.Figure:
    """Darker where the rank waited for longer; one scale for all jobs.

    Of neighbouring ranks in one column the one furthest from the step's median is shown, so that a
    late rank, which waits least, is not hidden by those that wait for it. Of more than MOST_STEPS
    steps the last ones are drawn.

    Args:
        jobs: that are drawn.
        palette: the mode's colours.
        opened: the step of a rank whose dossier is open, which is framed.
    """
    figure = new_figure(palette)
    blocks = [(job, *_cells(job.rows)) for job in jobs]
    most_ns = max((ns for *_, cells in blocks for row in cells for ns, _ in row), default=0) or 1
    heights = [len(cells) * _ROW_PX + _TITLE_PX for *_, cells in blocks]
    total, top_px = sum(heights), 0
    for index, ((job, firsts, cells), height) in enumerate(zip(blocks, heights, strict=True)):
        suffix = axis_suffix(index)
        top = 1 - (top_px + _TITLE_PX) / total
        bottom = 1 - (top_px + height) / total
        top_px += height
        first_step = _n_steps(job.rows) - len(cells)
        steps = [f"step {first_step + place + 1}" for place in range(len(cells))]
        figure.add_heatmap(
            x=firsts,
            y=steps,
            z=[[ns / most_ns for ns, _ in row] for row in cells],
            zmin=0,
            zmax=1,
            colorscale=[[0, palette.raised], [1, palette.accent]],
            showscale=False,
            ygap=2,
            hoverinfo="skip",
            xaxis=f"x{suffix}",
            yaxis=f"y{suffix}",
        )
        items = [
            [rank_item(job.run, rank, first_step + place).text for _, rank in row]
            for place, row in enumerate(cells)
        ]
        texts = [
            [f"<b>rank {rank}</b>, {step}<br>waited {format_duration(ns)}" for ns, rank in row]
            for step, row in zip(steps, cells, strict=True)
        ]
        add_cells(figure, suffix, firsts, steps, texts, items)
        for place, row in enumerate(items):
            if opened is not None and opened.text in row:
                outline_cell(figure, suffix, firsts, row.index(opened.text), place, palette)
        place_block(
            figure, index, (bottom, top), job.name, palette, is_last=index == len(blocks) - 1
        )
    figure.update_layout(height=total + _AXIS_PX, margin={"t": 0, "b": _AXIS_PX, "r": 16})
    return figure


def _n_steps(rows: Sequence[RankRow]) -> int:
    return min((len(row.waited_in_steps_ns) for row in rows), default=0)


def _cells(rows: Sequence[RankRow]) -> tuple[list[int], list[list[tuple[int, int]]]]:
    """First rank of each column; for each step (ns, rank) of each column's furthest from median."""
    wide = -(-len(rows) // MOST_COLUMNS) or 1
    columns = [rows[at : at + wide] for at in range(0, len(rows), wide)]
    n_steps = _n_steps(rows)
    cells = []
    for step in range(max(0, n_steps - MOST_STEPS), n_steps):
        middle = median(row.waited_in_steps_ns[step] for row in rows)
        furthest = [
            max(column, key=lambda row: abs(row.waited_in_steps_ns[step] - middle))
            for column in columns
        ]
        cells.append([(row.waited_in_steps_ns[step], row.rank) for row in furthest])
    return [column[0].rank for column in columns], cells
