"""A number over time: a line for each variant, its noise as a band, what changed around it."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

import plotly.graph_objects as go

from profiler_core.analysis.trend import TrendChart, TrendLine, TrendPoint
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.dates import moment_of
from profiler_core.figures.label_boxes import Box, along, label_box
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import (
    format_bytes,
    format_change,
    format_count,
    format_duration,
    format_energy,
)

Order = Literal["time", "run"]

_HEIGHT_PX, _MARK_PX = 230, 9
_BAND_OPACITY = 0.16
_LONGEST_CHANGE = 34  # characters of the words above a mark
_ROOM = 0.18  # above and below the lines, of what they span
_FROM_ZERO_BELOW = 0.4
_NAMED_SHIFT = 0.02  # smaller changes are shown on hover only
_N_TICKS = 8
_DAY = timedelta(days=1)
_MOST_MARKS = 6  # that have a label; the others are shown on hover

# metric -> (factor, unit) candidates, the largest first; None: a plain count.
_TIMES = ((1e-9, "s"), (1e-6, "ms"), (1e-3, "µs"), (1.0, "ns"))
_SIZES = ((1e-9, "GB"), (1e-6, "MB"), (1e-3, "kB"), (1.0, "B"))
_ENERGIES = ((1.0, "J"), (1e3, "mJ"), (1e6, "µJ"))
_UNITS = {
    "step_time_ns": _TIMES,
    "compile_s": ((1.0, "s"),),
    "peak_reserved_bytes": _SIZES,
    "peak_allocated_bytes": _SIZES,
    "energy_per_step_j": _ENERGIES,
}


def trend_figure(
    chart: TrendChart, metric: str, palette: Palette, *, order: Order, chosen: str | None = None
) -> go.Figure:
    """One chart. Each point carries its run_id as customdata, for a click.

    Args:
        chart: with at least one point.
        metric: a field of HeadlineMetrics.
        palette: of the mode.
        order: by date, or one run after another at equal distances.
        chosen: the run_id of the point with a ring around it.
    """
    figure = new_figure(palette)
    values = [point.value for line in chart.lines for point in line.points]
    factor, unit = _unit(metric, max(values))
    positions = _positions(chart, order)
    for number, line in enumerate(_coloured(chart.lines)):
        color = palette.run(line[1])
        _draw_band(figure, line[0], positions, factor, color)
        _draw_line(
            figure, line[0], positions, factor, color, palette, metric, number, len(chart.lines)
        )
    _mark_changes(figure, chart, positions, palette)
    _ring(figure, chart, positions, factor, palette, chosen)
    _name_shifts(figure, chart, positions, factor, palette)
    figure.update_layout(
        height=_HEIGHT_PX,
        showlegend=False,
        margin={"t": 26 if figure.layout.shapes else 8, "r": 12},
        yaxis={"range": _range(chart, factor), "title": {"text": unit}, "nticks": 5},
        xaxis=_axis(chart, positions, order),
        clickmode="event+select",
        hovermode="closest",
    )
    return figure


def trend_legend(chart: TrendChart, palette: Palette) -> tuple[tuple[str, str], ...]:
    """(variant, colour) of each line."""
    return tuple((line.variant, palette.run(number)) for line, number in _coloured(chart.lines))


def format_metric(metric: str, value: float | None) -> str:
    """A value of this metric as text with its unit; None is a dash."""
    if value is None:
        return "–"
    if metric == "step_time_ns":
        return format_duration(value)
    if metric == "compile_s":
        return format_duration(value * 1e9)
    if metric.endswith("_bytes"):
        return format_bytes(value)
    return format_energy(value) if metric == "energy_per_step_j" else format_count(value)


def _range(chart: TrendChart, factor: float) -> list[float]:
    """From zero, unless the lines lie so close together that their ups and downs would vanish."""
    points = [point for line in chart.lines for point in line.points]
    ends = [end for p in points for end in (p.low, p.value, p.high) if end is not None]
    low, high = min(ends) * factor, max(ends) * factor
    room = max((high - low) * _ROOM, high * 0.04)
    bottom = low - room
    return [0 if bottom < high * _FROM_ZERO_BELOW else bottom, (high + room) or 1.0]


def _name_shifts(
    figure: go.Figure,
    chart: TrendChart,
    positions: dict[str, datetime | int],
    factor: float,
    palette: Palette,
) -> None:
    """Label points with their change where it is larger than the noise, and with the commit.

    Of labels that would overlap that of the largest change.
    """
    moved = [
        (point, point.ratio)
        for line in chart.lines
        for point in line.points
        if point.is_beyond_noise and point.ratio and abs(point.ratio - 1) >= _NAMED_SHIFT
    ]
    moved.sort(key=lambda shift: abs(math.log(shift[1])), reverse=True)
    bottom, top = _range(chart, factor)
    taken: list[Box] = []
    for point, ratio in moved:
        position, value = positions[point.run.run_id], point.value * factor
        texts = list(filter(None, (format_change(ratio), point.run.git_commit[:7])))
        share = along(position, positions.values())
        box = label_box(texts, share, (value - bottom) / (top - bottom))
        if any(map(box.overlaps, taken)):
            continue
        taken.append(box)
        figure.add_annotation(
            x=position,
            y=value,
            yshift=26 if point.run.git_commit else 18,
            text="<br>".join(map(plotly_text, texts)),
            showarrow=False,
            bgcolor=palette.surface,  # the line of a change may run through it
            font={"size": 12, "color": palette.worse if ratio > 1 else palette.better},
        )


def _coloured(lines: Sequence[TrendLine]) -> list[tuple[TrendLine, int]]:
    """Baselines grey, the others in the colours of candidates."""
    numbered, n_candidates = [], 0
    for line in lines:
        n_candidates += not line.is_baseline
        numbered.append((line, 0 if line.is_baseline else n_candidates))
    return numbered


def _positions(chart: TrendChart, order: Order) -> dict[str, datetime | int]:
    """run_id -> position on the axis; runs of one capture share a position."""
    runs = {p.run.run_id: p.run for line in chart.lines for p in line.points}
    starts: dict[str, str] = {}
    for run in runs.values():
        start = starts.get(run.capture_id, run.created_at)
        starts[run.capture_id] = min(start, run.created_at)
    if order == "time":
        return {run_id: _moment(starts[run.capture_id]) for run_id, run in runs.items()}
    captures = sorted(starts, key=lambda capture_id: (starts[capture_id], capture_id))
    return {run_id: captures.index(run.capture_id) for run_id, run in runs.items()}


def _axis(
    chart: TrendChart, positions: dict[str, datetime | int], order: Order
) -> dict[str, object]:
    if order == "time":
        axis: dict[str, object] = {"type": "date", "nticks": _N_TICKS}
        moments = sorted(
            {position for position in positions.values() if isinstance(position, datetime)}
        )
        if len(moments) == 1:  # Plotly would show a span of milliseconds
            axis |= {"tickvals": moments, "tickformat": "%-d %b %Y"}
        elif moments[-1] - moments[0] > timedelta(days=2):
            one_year = moments[0].year == moments[-1].year
            axis |= {"tickformat": "%-d %b" if one_year else "%-d %b %Y"}
            if moments[-1] - moments[0] < _N_TICKS * _DAY:  # Plotly would name each day twice
                axis |= {"dtick": _DAY / timedelta(milliseconds=1)}
        else:  # the day stands once, below the first of its times
            seconds = ":%S" if moments[-1] - moments[0] < timedelta(minutes=10) else ""
            axis |= {"tickformat": f"%H:%M{seconds}\n%-d %b %Y"}
        return axis
    texts: dict[datetime | int, str] = {}
    for line in chart.lines:
        for point in line.points:
            commit = point.run.git_commit[:7]
            day = _moment(point.run.created_at).strftime("%d %b")
            texts[positions[point.run.run_id]] = plotly_text(commit or day)
    step = max(1, len(texts) // 10)
    shown = {
        position: text for n, (position, text) in enumerate(sorted(texts.items())) if n % step == 0
    }
    edge = len(texts) - 0.5
    return {
        "tickvals": list(shown),
        "ticktext": list(shown.values()),
        "range": [-0.5, edge],
    }


def _draw_band(
    figure: go.Figure,
    line: TrendLine,
    positions: dict[str, datetime | int],
    factor: float,
    color: str,
) -> None:
    banded = [p for p in line.points if p.low is not None and p.high is not None]
    if len(banded) < 2:
        for point in banded:
            figure.add_scatter(
                x=[positions[point.run.run_id]] * 2,
                y=[(point.low or 0) * factor, (point.high or 0) * factor],
                mode="lines",
                line={"color": color, "width": 3},
                opacity=0.5,
                hoverinfo="skip",
            )
        return
    xs = [positions[p.run.run_id] for p in banded]
    figure.add_scatter(
        x=[*xs, *reversed(xs)],
        y=[
            *((p.high or 0) * factor for p in banded),
            *((p.low or 0) * factor for p in reversed(banded)),
        ],
        fill="toself",
        mode="none",
        fillcolor=color,
        opacity=_BAND_OPACITY,
        hoverinfo="skip",
    )


def _draw_line(
    figure: go.Figure,
    line: TrendLine,
    positions: dict[str, datetime | int],
    factor: float,
    color: str,
    palette: Palette,
    metric: str,
    number: int,
    n_lines: int,
) -> None:
    figure.add_scatter(
        x=[positions[p.run.run_id] for p in line.points],
        y=[p.value * factor for p in line.points],
        mode="lines+markers",
        name=plotly_text(line.variant),
        line={"color": color, "width": 2},
        marker={
            "color": color,
            # Larger ones below, so that lines on top of each other are all seen.
            "size": _MARK_PX + 2 * (n_lines - 1 - number),
            "symbol": [
                "diamond" if any(not _is_small(c.what) for c in p.changes) else "circle"
                for p in line.points
            ],
            "line": {"width": 1.5, "color": palette.surface},
        },
        customdata=[p.run.run_id for p in line.points],
        hovertext=[_hover(line, p, metric) for p in line.points],
        hoverinfo="text",
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        zorder=10 + number,
    )


def _moment(iso: str) -> datetime:
    """The first one of all for what is no date, which an earlier version let in."""
    return moment_of(iso) or datetime.min.replace(tzinfo=UTC)


def _is_small(quantity: str) -> bool:
    """Whether a change of this quantity is shown on hover only: it seldom moves a number."""
    return quantity in ("host", "CPU", "Python")


def _hover(line: TrendLine, point: TrendPoint, metric: str) -> str:
    run = point.run
    when = _moment(run.created_at)
    rows = [
        f"<b>{plotly_text(line.variant)}</b>  {format_metric(metric, point.value)}",
        f"{when.day} {when:%b %Y, %H:%M} UTC · torch {plotly_text(run.torch)}"
        + (f" · {plotly_text(run.git_commit[:7])}" if run.git_commit else ""),
    ]
    if point.low is not None:
        low, high = format_metric(metric, point.low), format_metric(metric, point.high)
        rows.append(f"90 % of its rounds: {low} to {high}")
    if point.ratio is not None:
        beyond = {True: ", beyond the noise", False: ", within the noise", None: ""}
        rows.append(
            f"{format_change(point.ratio)} against the run before" + beyond[point.is_beyond_noise]
        )
    rows += [
        f"{plotly_text(c.what)}: {plotly_text(c.before)} → {plotly_text(c.after)}"
        for c in point.changes
    ]
    if run.tags:
        rows.append(plotly_text(" ".join(f"#{tag}" for tag in run.tags)))
    return "<br>".join(rows)


def _mark_changes(
    figure: go.Figure, chart: TrendChart, positions: dict[str, datetime | int], palette: Palette
) -> None:
    """A labelled dotted line where the environment changed, one for all variants."""
    marks: dict[datetime | int, list[str]] = {}
    for line in chart.lines:
        for point in line.points:
            for change in point.changes:
                change_text = f"{change.what} {change.after}"
                texts = marks.setdefault(positions[point.run.run_id], [])
                if change_text not in texts and not _is_small(change.what):
                    texts.append(change_text)
    labelled = sorted(
        (position, ", ".join(change_text)) for position, change_text in marks.items() if change_text
    )
    taken: list[Box] = []
    for position, text in labelled:
        figure.add_shape(
            type="line",
            x0=position,
            x1=position,
            yref="paper",
            y0=0,
            y1=1,
            line={"color": palette.muted, "width": 1, "dash": "dot"},
            layer="below",
        )
        short = clipped(text, _LONGEST_CHANGE)
        box = label_box([short], along(position, positions.values()), 1.0)
        if len(taken) < _MOST_MARKS and not any(map(box.overlaps, taken)):
            taken.append(box)
            figure.add_annotation(
                x=position,
                yref="paper",
                y=1,
                yanchor="bottom",
                xanchor="center",
                text=plotly_text(short),
                showarrow=False,
                font={"size": 11, "color": palette.muted},
            )


def _ring(
    figure: go.Figure,
    chart: TrendChart,
    positions: dict[str, datetime | int],
    factor: float,
    palette: Palette,
    chosen: str | None,
) -> None:
    for line in chart.lines:
        for point in line.points:
            if point.run.run_id == chosen:
                figure.add_scatter(
                    x=[positions[chosen]],
                    y=[point.value * factor],
                    mode="markers",
                    marker={
                        "size": _MARK_PX + 10,
                        "symbol": "circle-open",
                        "color": palette.ink,
                        "line": {"width": 2},
                    },
                    hoverinfo="skip",
                )


def _unit(metric: str, largest: float) -> tuple[float, str]:
    units = _UNITS.get(metric)
    if units is None:
        return 1.0, "per step" if metric in ("n_kernels", "n_launches") else "per run"
    return next(((f, unit) for f, unit in units if largest * f >= 1), units[-1])
