"""Blocks of heat maps below each other, one for each job, with the ranks along one axis."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from profiler_core.analysis.ranks.rank_row import RankRow
from profiler_core.figures.names import plotly_text
from profiler_core.figures.theme import Palette


@dataclass(frozen=True)
class RanksOfRun:
    """The ranks of one job, in the order in which they are drawn."""

    name: str
    run: int  # place in the comparison
    rows: Sequence[RankRow]


def axis_suffix(index: int) -> str:
    """Plotly's suffix of the axes of block `index`, from 0."""
    return "" if not index else str(index + 1)


def add_cells(
    figure: go.Figure,
    suffix: str,
    columns: Sequence[int],
    rows: Sequence[str],
    texts: Sequence[Sequence[str]],
    items: Sequence[Sequence[str]],
) -> None:
    """Points that nobody sees on the cells of a heat map: of these Plotly tells which was clicked.

    Args:
        figure: with the heat map on axes of this suffix.
        suffix: of `axis_suffix`.
        columns: of the heat map.
        rows: likewise.
        texts: of each row, what is shown for whoever rests on a cell.
        items: of each row, what a click on a cell opens.
    """
    figure.add_scatter(
        x=[column for _ in rows for column in columns],
        y=[row for row in rows for _ in columns],
        mode="markers",
        marker={"color": "rgba(0,0,0,0)", "size": 6},
        customdata=[item for of_row in items for item in of_row],
        text=[text for of_row in texts for text in of_row],
        hoverinfo="text",
        showlegend=False,
        xaxis=f"x{suffix}",
        yaxis=f"y{suffix}",
    )
    # The nearest point, however wide a cell is.
    figure.update_layout(hovermode="closest", hoverdistance=-1)


def outline_cell(
    figure: go.Figure, suffix: str, columns: Sequence[int], column: int, row: int, palette: Palette
) -> None:
    """A frame around the cell that is open.

    Args:
        figure: with the heat map on axes of this suffix.
        suffix: of `axis_suffix`.
        columns: of the heat map.
        column: of the cell, as a place in `columns`.
        row: of the cell, from the top.
        palette: the mode's colours.
    """
    half = (columns[1] - columns[0]) / 2 if len(columns) > 1 else 0.5
    figure.add_shape(
        type="rect", xref=f"x{suffix}", yref=f"y{suffix}",
        x0=columns[column] - half, x1=columns[column] + half, y0=row - 0.5, y1=row + 0.5,
        line={"color": palette.ink, "width": 2},
    )  # fmt: skip


def place_block(
    figure: go.Figure, index: int, domain: tuple[float, float], name: str, palette: Palette,
    *, is_last: bool,
) -> None:  # fmt: skip
    """Lay out a block's axes, and write the job's name above it.

    Args:
        figure: with the block's heat map on axes of `axis_suffix(index)`.
        index: of the block, from the top.
        domain: its lower and upper edge, as shares of the plot's height.
        name: of the job.
        palette: the mode's colours.
        is_last: it shows the ranks' numbers for all blocks.
    """
    suffix = axis_suffix(index)
    bottom, top = domain
    figure.update_layout(
        {
            f"xaxis{suffix}": {
                "anchor": f"y{suffix}",
                "title": {"text": "rank"} if is_last else None,
                "showticklabels": is_last,
                "showgrid": False,
            },
            f"yaxis{suffix}": {
                "anchor": f"x{suffix}",
                "domain": [max(0.0, bottom), max(0.0, top)],
                "autorange": "reversed",
                "ticklabelstandoff": 6,
                "showgrid": False,
            },
        }
    )
    figure.add_annotation(
        x=0, y=top, xref="paper", yref="paper", xanchor="left", yanchor="bottom",
        text=f"<b>{plotly_text(name)}</b>", showarrow=False,
        font={"size": 13, "color": palette.ink},
    )  # fmt: skip
