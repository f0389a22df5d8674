"""From the baseline's step to the candidate's: one floating bar for each thing that changed.

The bars are the waterfall's own whole nanoseconds, so the last one ends where the candidate's
step does. Hatched ones rest on an estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.analysis.waterfall import Waterfall, WaterfallRow
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import Figure, new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_difference, format_duration

_ROW_PX, _REST_PX = 38, 44
_SHOWN_SHARE = 0.003  # of the longer step; smaller changes are drawn as one bar
_IN_PROPORTION = "split in proportion to the profiled step"
_ASSUMED = "assumed: the device's own pause in each gap between kernels"
_LINE, _MOST_LABEL = 24, 44  # characters: labels take two lines, so that a phone has room too


@dataclass(frozen=True)
class Bar:
    """One bar, ns per step; it floats from `start_ns` to `end_ns`."""

    label: str
    start_ns: int
    end_ns: int
    sides_ns: tuple[int, int]  # what the two steps spend on it
    estimated: bool
    total: int | None  # 0: the baseline's step, 1: the candidate's; None: a change
    keys: tuple[str, ...] = ()  # of the waterfall's rows in it
    how: tuple[str, ...] = ()  # it is estimated


def bars(result: Waterfall, labels: tuple[str, str]) -> tuple[Bar, ...]:
    """The baseline's step, each change, the candidate's step.

    The changes add up to the difference of the steps exactly; small ones are added together.
    """
    least = _SHOWN_SHARE * max(result.baseline_ns, result.candidate_ns)
    large = [row for row in result.rows if row.delta_ns and abs(row.delta_ns) >= least]
    small = [row for row in result.rows if row.delta_ns and abs(row.delta_ns) < least]
    changes = [(row.label, [row]) for row in large]
    if small:
        name = small[0].label if len(small) == 1 else f"{len(small)} smaller changes"
        changes.append((name, small))
    at = result.baseline_ns
    drawn = [Bar(labels[0], 0, at, (at, at), estimated=False, total=0)]
    for label, rows in changes:
        before, after = _sums(rows)
        keys, how = tuple(row.key for row in rows), _how_estimated(rows)
        drawn.append(
            Bar(label, at, at + after - before, (before, after), bool(how), None, keys, how)
        )
        at += after - before
    end = result.candidate_ns
    drawn.append(Bar(labels[1], 0, end, (end, end), estimated=False, total=1))
    return tuple(drawn)


@dataclass(frozen=True)
class BarRow:
    """A bar as markup draws it: shares are of the width, words stand beside it."""

    label: str
    left: float
    width: float
    color: str
    estimated: bool
    is_total: bool
    value: str  # "≈ −1.2 ms"
    sides: str  # "3.0 ms → 1.8 ms"; empty for a step


def bar_rows(result: Waterfall, labels: tuple[str, str], palette: Palette) -> tuple[BarRow, ...]:
    """The same bars for markup, which stands in a notebook without Plotly's 5 MB of script."""
    drawn = bars(result, labels)
    ends = [end for bar in drawn for end in (bar.start_ns, bar.end_ns)]
    lowest = min(ends)
    whole = max(ends) - lowest or 1
    return tuple(
        BarRow(
            clipped(bar.label, _MOST_LABEL),
            (min(bar.start_ns, bar.end_ns) - lowest) / whole,
            abs(bar.end_ns - bar.start_ns) / whole,
            _colour(bar, palette),
            bar.estimated,
            bar.total is not None,
            _amount(bar),
            "" if bar.total is not None else _sides(bar),
        )
        for bar in drawn
    )


def waterfall_figure(
    result: Waterfall, labels: tuple[str, str], palette: Palette, *, opened: str = ""
) -> Figure:
    """Draw it, from the top down; blue saves time, orange costs time.

    The trace named "rows" is as wide as the picture and takes clicks: customdata is the key of a
    bar's first row, "" for the two steps.

    Args:
        result: whose rows are drawn.
        labels: of baseline and candidate.
        palette: of the mode.
        opened: key of the row that is open below, which is marked.
    """
    drawn = bars(result, labels)
    whole = "one step" if result.span == PER_STEP else "the whole trace"
    furthest = max((max(bar.start_ns, bar.end_ns) for bar in drawn), default=1) or 1
    # Many operators at once take more time than the step has, so that what they save can be more
    # than the step, until what lies beyond the unprofiled step is taken back: bars pass below 0.
    lowest = min((min(bar.start_ns, bar.end_ns) for bar in drawn), default=0)
    widest = max(furthest, -lowest)
    factor, unit = next(
        ((f, u) for f, u in ((1e-9, "s"), (1e-6, "ms"), (1e-3, "µs")) if widest * f >= 1),
        (1.0, "ns"),
    )
    figure = new_figure(palette)
    figure.add_bar(
        orientation="h",
        y=list(range(len(drawn))),
        base=[bar.start_ns * factor for bar in drawn],
        x=[(bar.end_ns - bar.start_ns) * factor for bar in drawn],
        marker={
            "color": [_colour(bar, palette) for bar in drawn],
            "opacity": [1.0 if bar.total is not None else 0.6 for bar in drawn],
            "pattern": {
                "shape": ["/" if bar.estimated else "" for bar in drawn],
                "fgcolor": palette.surface,
                "size": 6,
                "solidity": 0.35,
            },
            "line": {"width": 0},
        },
        hoverinfo="skip",
    )
    # The bars are thin where a change is small: clicks and hovers go to the whole row.
    figure.add_bar(
        name="rows",
        orientation="h",
        y=list(range(len(drawn))),
        base=lowest * factor,
        x=[(furthest - lowest) * factor] * len(drawn),
        width=0.94,
        marker={"color": "rgba(0,0,0,0)", "line": {"width": 0}},
        customdata=[[bar.keys[0] if bar.keys else ""] for bar in drawn],
        hovertext=[_hover(bar, labels, result.span) for bar in drawn],
        hoverinfo="text",
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
    )
    _mark_rows(figure, drawn, factor, palette, opened)
    figure.update_layout(
        height=_ROW_PX * len(drawn) + _REST_PX,
        bargap=0.46,
        barmode="overlay",
        clickmode="event+select",
        dragmode=False,
        hovermode="closest",
        showlegend=False,
        margin={"l": 4, "r": 118, "t": 4},
        xaxis={
            "title": {"text": f"{whole}, {unit}"},
            "range": [lowest * factor, furthest * factor],
        },
        yaxis={
            "range": [len(drawn) - 0.5, -0.5],
            "tickvals": list(range(len(drawn))),
            "ticktext": [_name(bar) for bar in drawn],
            "tickfont": {"size": 12.5, "color": palette.ink},
            "showgrid": False,
            "ticks": "outside",
            "ticklen": 6,
            "tickcolor": "rgba(0,0,0,0)",
        },
    )
    return figure


def _mark_rows(
    figure: Figure, drawn: Sequence[Bar], factor: float, palette: Palette, opened: str
) -> None:
    """Each row's value, the tint of the open one, and the lines from one bar to the next."""
    for row, bar in enumerate(drawn):
        if opened and opened in bar.keys:
            figure.add_shape(
                type="rect", xref="paper", x0=0, x1=1, y0=row - 0.47, y1=row + 0.47,
                fillcolor=palette.tint(palette.accent, 0.1), line={"width": 0}, layer="below",
            )  # fmt: skip
        figure.add_annotation(
            x=max(bar.start_ns, bar.end_ns) * factor, y=row, text=_value(bar, palette),
            showarrow=False, xanchor="left", xshift=6, align="left",
            font={"size": 12.5, "color": palette.ink},
        )  # fmt: skip
        if row + 1 < len(drawn):
            x = bar.end_ns * factor
            figure.add_shape(
                type="line", x0=x, x1=x, y0=row + 0.27, y1=row + 1 - 0.27,
                line={"width": 1, "color": palette.muted},
            )  # fmt: skip


def _sums(rows: Sequence[WaterfallRow]) -> tuple[int, int]:
    return sum(row.baseline_ns for row in rows), sum(row.candidate_ns for row in rows)


def _colour(bar: Bar, palette: Palette) -> str:
    if bar.total is not None:
        return palette.run(bar.total)
    return palette.better if bar.end_ns < bar.start_ns else palette.worse


def _name(bar: Bar) -> str:
    label = clipped(bar.label, _MOST_LABEL)
    text = "<br>".join(plotly_text(line) for line in wrap(label, _LINE))
    return f"<b>{text}</b>" if bar.total is not None else text


def _value(bar: Bar, palette: Palette) -> str:
    if bar.total is not None:
        return f"<b>{_amount(bar)}</b>"
    return (
        f'{_amount(bar)}<br><span style="color:{palette.muted};font-size:11px">{_sides(bar)}</span>'
    )


def _amount(bar: Bar) -> str:
    if bar.total is not None:
        return format_duration(bar.end_ns)
    about = "≈ " if bar.estimated else ""
    return f"{about}{format_difference(bar.end_ns - bar.start_ns)}"


def _sides(bar: Bar) -> str:
    before, after = bar.sides_ns
    return f"{format_duration(before)} → {format_duration(after)}"


def _how_estimated(rows: Sequence[WaterfallRow]) -> tuple[str, ...]:
    """What the rows of a bar rest on, each once; () where all are measured."""
    return tuple(
        dict.fromkeys(
            _ASSUMED if any(row.paces) else _IN_PROPORTION for row in rows if row.estimated
        )
    )


def _hover(bar: Bar, labels: tuple[str, str], span: Span) -> str:
    if bar.total is not None:
        return f"<b>{plotly_text(bar.label)}</b><br>{format_duration(bar.end_ns)} {span}"
    lines = [f"<b>{plotly_text(bar.label)}</b>"]
    lines += [
        f"{plotly_text(label)}: {format_duration(ns)} {span}"
        for label, ns in zip(labels, bar.sides_ns, strict=True)
    ]
    lines += bar.how
    return "<br>".join(lines)
