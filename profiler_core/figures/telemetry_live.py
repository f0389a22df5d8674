"""One GPU in the last minutes: utilisation and power, small."""

from collections.abc import Sequence

import plotly.graph_objects as go

from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette


def telemetry_live(
    rows: Sequence[tuple[float, float | None, float | None]], palette: Palette
) -> go.Figure:
    """Utilisation (left axis, %) and power (right axis, W) over the seconds before the last row.

    Args:
        rows: (epoch s, utilisation %, power W) by time; at least one.
        palette: the mode's colours.
    """
    figure = new_figure(palette)
    last = rows[-1][0]
    x = [at - last for at, _, _ in rows]
    figure.add_scatter(
        x=x, y=[use for _, use, _ in rows], mode="lines", name="GPU busy, %",
        line={"color": palette.accent, "width": 2, "shape": "hv"},
        hovertemplate="GPU busy %{y:.0f} %<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=[power for _, _, power in rows], mode="lines", name="power, W", yaxis="y2",
        line={"color": palette.baseline, "width": 1.6},
        hovertemplate="%{y:.0f} W<extra></extra>",
    )  # fmt: skip
    figure.update_layout(
        height=170,
        hovermode="x",
        xaxis={"title": {"text": "seconds before now"}},
        yaxis={"title": {"text": "GPU busy, %"}, "range": [0, 105], "nticks": 4},
        yaxis2={
            "title": {"text": "power, W"},
            "overlaying": "y",
            "side": "right",
            "rangemode": "tozero",
            "showgrid": False,
            "nticks": 4,
        },
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )
    return figure
