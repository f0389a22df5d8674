"""Boxes below boxes, each as wide as its value: what the icicles of time and of memory share.

A click on a box makes it the whole width; the bar above names what lies around it, outermost first,
and a click there leads back out.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette

PATH_BAR_PX = 24
HOW_TO_ZOOM = "Click a box to open its dossier and zoom in; the bar above the boxes leads back out."


def icicle(
    ids: Sequence[str],
    parents: Sequence[str],
    labels: Sequence[str],
    values: Sequence[float],
    hover: Sequence[str],
    fills: Sequence[str],
    palette: Palette,
    *,
    height: int,
    items: Sequence[str] | None = None,
) -> go.Figure:
    """One box for each id, in the order given; a click on one makes it the whole width.

    Args:
        ids: unique.
        parents: id of the box above; "" for the outermost.
        labels: written into the box where they fit.
        values: a box holds its own children's too.
        hover: HTML, foreign names in it by `plotly_text`.
        fills: colours.
        palette: of the page.
        height: of all rows, px.
        items: whose dossier a click opens besides; "" for none.
    """
    figure = new_figure(palette)
    figure.add_icicle(
        ids=ids,
        parents=parents,
        labels=[plotly_text(label) for label in labels],
        values=values,
        hovertext=hover,
        customdata=items,
        **icicle_style(fills, palette),
    )
    figure.update_layout(
        uniformtext={"minsize": 10, "mode": "hide"},
        height=height + PATH_BAR_PX + 8,
        # The box that was zoomed into stays so while a page draws the same boxes again.
        uirevision=ids[0] if ids else None,
        margin={"l": 0, "r": 0, "t": PATH_BAR_PX + 4, "b": 4},
    )
    return figure


def icicle_style(fills: Sequence[str], palette: Palette) -> dict[str, Any]:
    """What every icicle looks like, as arguments of `add_icicle`.

    Args:
        fills: the colour of each box.
        palette: of the page.
    """
    return {
        "branchvalues": "total",
        "hoverinfo": "text",
        "texttemplate": "%{label}",
        "textfont": {"color": [palette.on(fill) for fill in fills], "size": 12},
        "tiling": {"orientation": "v", "pad": 1},
        "pathbar": {
            "visible": True,
            "thickness": PATH_BAR_PX - 2,
            "textfont": {"color": palette.ink, "size": 12},
        },
        "leaf": {"opacity": 1},
        "marker": {"colors": fills, "line": {"width": 0}},
        "sort": False,
    }
