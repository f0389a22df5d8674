"""Where a step's time went: one stacked bar a run, idle included, all on one scale.

In a report as a figure of Plotly; on the overview as rows of markup, which stand there two seconds
before a browser has read and run Plotly for the first time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.step_parts import WAITING_FOR_A_RANK, StepParts
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_duration, format_share_of

_LONGEST_LABEL = 60  # characters
_BAR_PX, _REST_PX, _LABEL_SHIFT_PX = 66, 60, 30
_LABELLED_SHARE = 0.055  # of the longest bar; narrower parts have no room for a number
_SHOWN_SHARE = 0.004  # kinds below this in every bar are joined: they would be one pixel wide

_IDLE = {"gpu": "GPU idle", "cpu": "no operator"}
_REST = "smallest categories"


@dataclass(frozen=True)
class StepPart:
    """A piece of a bar; shares are of the longest bar of all."""

    share: float
    color: str
    text_color: str
    text: str  # its length in the figure's unit; "" where there is no room
    hint: str  # what it is, and how long


@dataclass(frozen=True)
class StepRow:
    """One run's bar."""

    label: str
    total: str  # the step's time
    share: float
    parts: tuple[StepPart, ...]


def step_rows(
    labels: Sequence[str], parts: Sequence[StepParts], palette: Palette
) -> tuple[str, tuple[StepRow, ...]]:
    """What the numbers in the bars are, and one bar for each run in their order."""
    longest = max((p.step_ns for p in parts), default=0.0)
    factor, unit = _unit(longest)
    longest = longest or 1.0
    segments = _segments(parts, longest, palette)
    rows = []
    for number, (label, p) in enumerate(zip(labels, parts, strict=True)):
        row_parts = [
            StepPart(
                share=widths[number] / longest,
                color=color,
                text_color=palette.on(color),
                text=_text(widths[number], longest, factor),
                hint=_hint(kind, widths[number], p),
            )
            for name, kind, color, widths in segments
            if widths[number] > 0
        ]
        total = format_duration(p.step_ns)
        rows.append(
            StepRow(clipped(label, _LONGEST_LABEL), total, p.step_ns / longest, tuple(row_parts))
        )
    return f"{_span(parts)}, {unit}", tuple(rows)


def _span(parts: Sequence[StepParts]) -> str:
    """What the bars are as long as."""
    whole = [p.is_whole_trace for p in parts]
    if not any(whole):
        return "one step"
    return "the whole trace" if all(whole) else "one step, or a whole trace"


def step_bars(labels: Sequence[str], parts: Sequence[StepParts], palette: Palette) -> go.Figure:
    """One bar for each run, from the top in their order; a bar's length is its step time."""
    figure = new_figure(palette)
    factor, unit = _unit(max((p.step_ns for p in parts), default=0.0))
    longest = max((p.step_ns for p in parts), default=0.0) or 1.0
    rows = list(range(len(parts)))
    for _name, label, color, widths in _segments(parts, longest, palette):
        figure.add_bar(
            y=rows,
            x=[width * factor for width in widths],
            orientation="h",
            name=label,
            marker={"color": color, "line": {"width": 1, "color": palette.surface}},
            text=[_text(width, longest, factor) for width in widths],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"size": 12, "color": palette.on(color)},
            hovertext=[
                f"<b>{plotly_text(run)}</b><br>{_hint(label, width, p)}"
                for run, width, p in zip(labels, widths, parts, strict=True)
            ],
            hoverinfo="text",
        )
    for row, (label, p) in enumerate(zip(labels, parts, strict=True)):
        # Above the bar, not beside the axis: the whole width is for time.
        text = f"<b>{plotly_text(clipped(label, _LONGEST_LABEL))}</b>"
        figure.add_annotation(
            x=0, y=row, text=text, xanchor="left", yshift=_LABEL_SHIFT_PX, xshift=-2
        )
        text = f"<b>{format_duration(p.step_ns)}</b>"
        figure.add_annotation(x=p.step_ns * factor, y=row, text=text, xanchor="left", xshift=6)
    figure.update_annotations(showarrow=False, font={"size": 13, "color": palette.ink})
    figure.update_layout(
        barmode="stack",
        bargap=0.46,
        height=_BAR_PX * len(parts) + _REST_PX,
        showlegend=False,
        margin={"r": 74},
        xaxis={
            "title": {"text": f"{_span(parts)}, {unit}"},
            "range": [0, longest * factor],
        },
        yaxis={"range": [len(parts) - 0.6, -0.75], "visible": False},
        uniformtext={"minsize": 11, "mode": "hide"},
    )
    return figure


def step_legend(parts: Sequence[StepParts], palette: Palette) -> tuple[tuple[str, str], ...]:
    """(label, colour) of each kind in the bars, in the order of the stack."""
    longest = max((p.step_ns for p in parts), default=0.0) or 1.0
    return tuple((label, color) for _, label, color, _ in _segments(parts, longest, palette))


def _segments(
    parts: Sequence[StepParts], longest: float, palette: Palette
) -> list[tuple[str, str, str, list[float]]]:
    """(category or "", label, colour, ns in each run), in the order of the stack."""
    segments, smallest = [], [0.0] * len(parts)
    for name, label in CATEGORIES.items():
        widths = [p.by_category.get(name, 0.0) for p in parts]
        if max(widths, default=0.0) >= _SHOWN_SHARE * longest:
            segments.append((name, label, palette.category(name), widths))
        else:
            smallest = [a + b for a, b in zip(smallest, widths, strict=True)]
    if max(smallest, default=0.0) > 0:
        segments.append(("other", _REST, palette.category("other"), smallest))
    idle = [p.idle_ns for p in parts]
    segments.append(("", _idle_label(parts), palette.idle, idle))
    return segments


def _idle_label(parts: Sequence[StepParts]) -> str:
    """What the rest of any of the bars is; a run whose GPU events were cut off is of the CPU."""
    labels = dict.fromkeys(_IDLE[p.device_kind] for p in parts) or {_IDLE["gpu"]: None}
    if any(p.has_late_rank for p in parts):
        labels[WAITING_FOR_A_RANK] = None
    return " or ".join(labels)


def _text(width_ns: float, longest_ns: float, factor: float) -> str:
    return _three_digits(width_ns * factor) if width_ns / longest_ns > _LABELLED_SHARE else ""


def _hint(kind: str, width_ns: float, parts: StepParts) -> str:
    share = format_share_of(width_ns, parts.step_ns)
    whole = "trace" if parts.is_whole_trace else "step"
    return f"{kind}: {format_duration(width_ns)} · {share} of the {whole}"


def _unit(longest_ns: float) -> tuple[float, str]:
    for factor, unit in ((1e-9, "s"), (1e-6, "ms"), (1e-3, "µs")):
        if longest_ns * factor >= 1:
            return factor, unit
    return 1.0, "ns"


def _three_digits(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
