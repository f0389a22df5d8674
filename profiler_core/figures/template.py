"""The Plotly template: our fonts, hairlines and colours; no boxes, no mode bar.

Figures are shown with theme=None, so that Streamlit does not override the template.
"""

from functools import cache
from typing import Any

import plotly.graph_objects as go

from profiler_core.figures.theme import DARK, LIGHT, Palette

Figure = go.Figure

FONT = "Inter, sans-serif"

# Options of the viewer, the same for every figure: hover and click, no chrome.
CONFIG: dict[str, Any] = {"displayModeBar": False, "scrollZoom": False, "displaylogo": False}


def new_figure(palette: Palette) -> go.Figure:
    """An empty figure in our style, on a transparent ground."""
    return go.Figure(layout={"template": _template(palette is DARK)})


@cache
def _template(dark: bool) -> go.layout.Template:
    palette = DARK if dark else LIGHT
    axis = {
        "gridcolor": palette.line,
        "linecolor": palette.line,
        "zeroline": False,
        "ticks": "",
        "title": {"font": {"size": 12, "color": palette.muted}, "standoff": 8},
        "tickfont": {"size": 12, "color": palette.muted},
        "automargin": True,
        "fixedrange": True,
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 13, "color": palette.ink},
            "separators": ".\u202f",  # as `format_count` writes thousands
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": list(palette.categories.values()),
            "margin": {"l": 0, "r": 8, "t": 8, "b": 0},
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {
                "bgcolor": palette.raised,
                "bordercolor": palette.line,
                "font": {"family": FONT, "size": 12, "color": palette.ink},
                "align": "left",
            },
            "legend": {"font": {"size": 12, "color": palette.ink}, "itemsizing": "constant"},
            "modebar": {"bgcolor": "rgba(0,0,0,0)"},
        }
    )
