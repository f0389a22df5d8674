"""Small multiples over one time axis: clocks, power, temperature, memory, CPU of all runs."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

import plotly.graph_objects as go

from profiler_core.analysis.telemetry.phases import WORDS, PhaseKind
from profiler_core.analysis.telemetry.series import TITLES, Key, Line, Lines, Point
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette

_ROW_PX = 132
_GAP_PX = 40
_TOP_PX = 26
_BOTTOM_PX = 44
# Of the shading of a phase; `phase_shades` names them in this order.
PHASE_OPACITY: dict[PhaseKind, float] = {
    "timing": 0.08,
    "telemetry": 0.2,
    "profiled": 0.6,
    "file": 0.0,
}
_GAP_S = 0.5  # a line does not cross a longer pause
# Held until the next sample; the others change smoothly.
_STEPS: tuple[Key, ...] = ("sm_clock", "utilization", "temperature", "memory")
_N_COLUMNS = 2  # of charts
_NOT_FROM_ZERO: tuple[Key, ...] = ("sm_clock", "temperature", "memory")


def telemetry_series(labels: Mapping[int, str], lines: Lines, palette: Palette) -> go.Figure:
    """One small chart for each quantity that was sampled; the runs in their colours.

    Args:
        labels: of the runs, by their number among the chosen ones; 0 is the baseline.
        lines: all on one axis.
        palette: the mode's colours.
    """
    figure = new_figure(palette)
    keys = lines.keys
    n_rows = max(1, -(-len(keys) // _N_COLUMNS))
    height = n_rows * _ROW_PX + (n_rows - 1) * _GAP_PX + _TOP_PX + _BOTTOM_PX
    plot = height - _TOP_PX - _BOTTOM_PX
    for index, key in enumerate(keys):
        row, column = divmod(index, _N_COLUMNS)
        top = 1 - row * (_ROW_PX + _GAP_PX) / plot
        x_left = column / _N_COLUMNS + (0.035 if column else 0.0)
        suffix = "" if not index else str(index + 1)
        of_key = [line for line in lines.lines if line.key == key]
        is_last = index + _N_COLUMNS >= len(keys)
        figure.update_layout(
            {
                f"xaxis{suffix}": {
                    "domain": [x_left, (column + 1) / _N_COLUMNS - (0.0 if column else 0.005)],
                    "anchor": f"y{suffix}",
                    "matches": "x" if index else None,
                    "showticklabels": is_last,
                    # On a phone two of them beside each other would overlap.
                    "title": {"text": lines.title} if is_last and not column else None,
                    "fixedrange": False,
                    "showspikes": True,
                    "spikemode": "across",
                    "spikethickness": 1,
                    "spikedash": "dot",
                    "spikecolor": palette.muted,
                },
                f"yaxis{suffix}": {
                    "domain": [max(0.0, top - _ROW_PX / plot), top],
                    "anchor": f"x{suffix}",
                    "range": _range(key, of_key),
                    "nticks": 5,
                },
            }
        )
        figure.add_annotation(
            x=x_left, y=top, xref="paper", yref="paper", xanchor="left", yanchor="bottom",
            text=plotly_text(TITLES.get(key, key)), showarrow=False,
            font={"size": 12, "color": palette.muted},
        )  # fmt: skip
        for line in of_key:
            _draw(figure, line, labels[line.run], suffix, palette)
    for axis in range(1, len(keys) + 1):
        _phases(figure, lines, "" if axis == 1 else str(axis), palette)
    figure.update_layout(
        height=height,
        margin={"l": 0, "r": 8, "t": _TOP_PX, "b": _BOTTOM_PX},
        hovermode="x",
        showlegend=False,
    )
    return figure


def _draw(figure: go.Figure, line: Line, label: str, suffix: str, palette: Palette) -> None:
    xs, ys = _with_gaps(line.points)
    name = plotly_text(label if line.rank is None else f"{label}, rank {line.rank}")
    is_first = not line.rank  # further ranks of a job are thinner lines of its colour
    figure.add_scatter(
        x=xs,
        y=ys,
        mode="lines" if len(line.points) > 1 else "markers",
        line={
            "color": palette.run(line.run),
            "width": (2 if line.run == 0 else 1.6) if is_first else 1,
            "dash": "solid" if is_first else "dot",
            "shape": "hv" if line.key in _STEPS else "linear",
        },
        name=name,
        xaxis=f"x{suffix}",
        yaxis=f"y{suffix}",
        hovertemplate=f"{name}: %{{y:.4~g}}<extra></extra>",
    )


def _with_gaps(points: Sequence[Point]) -> tuple[list[float | None], list[float | None]]:
    """X and y, with None where nothing was sampled for longer than usual."""
    distances = [b - a for (a, _), (b, _) in pairwise(points)]
    longest = max(_GAP_S, 5 * median(distances)) if distances else 0.0
    xs: list[float | None] = []
    ys: list[float | None] = []
    for index, (x, y) in enumerate(points):
        if index and x - points[index - 1][0] > longest:
            xs.append(None)
            ys.append(None)
        xs.append(x)
        ys.append(y)
    return xs, ys


def _phases(figure: go.Figure, lines: Lines, suffix: str, palette: Palette) -> None:
    """Stretches behind the lines, in the colour of their run; the rarer the phase, the darker."""
    for span in lines.spans:
        figure.add_shape(
            type="rect",
            xref=f"x{suffix}",
            yref=f"y{suffix} domain",
            x0=span.start_s,
            x1=span.end_s,
            y0=0,
            y1=1,
            fillcolor=palette.run(span.run),
            opacity=PHASE_OPACITY[span.kind],
            line={"width": 0},
            layer="below",
        )


def _range(key: str, of_key: Sequence[Line]) -> list[float]:
    """The y range: from 0 for most; for clocks, heat and memory at least a tenth of the value."""
    values = [y for line in of_key for _, y in line.points]
    low, high = min(values), max(values)
    if key == "utilization" or (key.endswith("(%)") and high <= 100):
        return [0.0, 105.0]
    if key not in _NOT_FROM_ZERO:
        return [0.0, high * 1.08 or 1.0]
    # A clock of 1980 and 1965 MHz is the same: at least a tenth of the value is shown.
    room = max((high - low) * 1.15, 0.1 * high, 1e-9)
    middle = (low + high) / 2
    return [max(0.0, middle - room / 2), middle + room / 2]


def phase_shades(lines: Lines) -> str:
    """Which phases are shaded, from light to dark; "" where none is."""
    kinds = {span.kind for span in lines.spans}
    phase_words = [WORDS[kind] for kind in PHASE_OPACITY if kind in kinds]
    return f"Shaded, from light to dark: {', '.join(phase_words)}." if phase_words else ""
