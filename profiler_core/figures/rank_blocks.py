"""Blocks of heat maps below each other, one for each job, with the ranks along one axis."""

import plotly.graph_objects as go

from profiler_core.figures.names import plotly_text
from profiler_core.figures.theme import Palette


def axis_suffix(index: int) -> str:
    """Plotly's suffix of the axes of block `index`, from 0."""
    return "" if not index else str(index + 1)


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
