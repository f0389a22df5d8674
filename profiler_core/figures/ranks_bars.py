"""A step of each rank as one stacked bar: compute, exposed communication, exposed copies, idle."""

from collections.abc import Sequence

import plotly.graph_objects as go

from profiler_core.analysis.item import rank_item
from profiler_core.analysis.ranks.rank_row import RankRow
from profiler_core.analysis.ranks.strip import PARTS
from profiler_core.figures.names import plotly_text
from profiler_core.figures.rank_blocks import RanksOfRun
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_duration, format_share_of

MOST_RANKS = 32  # in bars of one job; more are a strip
_ROW_PX, _TITLE_PX, _REST_PX = 28, 34, 46
_LABELLED_SHARE = 0.06  # of the longest bar


def part_color(key: str, palette: Palette) -> str:
    """The colour of one part of the step."""
    return {
        "compute_ns": palette.category("gemm"),
        "exposed_communication_ns": palette.category("communication"),
        "exposed_copy_ns": palette.category("memcpy"),
        "idle_ns": palette.idle,
    }[key]


def ranks_legend(palette: Palette) -> list[tuple[str, str]]:
    """(label, colour) of the parts, in the order of the stack."""
    return [(label, part_color(key, palette)) for key, label in PARTS]


def ranks_bars(jobs: Sequence[RanksOfRun], palette: Palette) -> go.Figure:
    """One bar for each rank, the ranks of a job below its name; all on one scale.

    Args:
        jobs: their ranks in the order from the top.
        palette: the mode's colours.
    """
    figure = new_figure(palette)
    longest = max((row.step_ns for job in jobs for row in job.rows), default=0.0) or 1.0
    factor, unit = (1e-6, "ms") if longest >= 1e6 else (1e-3, "µs")
    ticks: dict[float, str] = {}
    bars: list[tuple[float, RankRow]] = []
    items: list[str] = []
    at = 0.0
    for job in jobs:
        figure.add_annotation(
            x=0, y=at, text=f"<b>{plotly_text(job.name)}</b>", xanchor="left", showarrow=False,
            xshift=-2, font={"size": 13, "color": palette.ink},
        )  # fmt: skip
        at += 0.9
        for row in job.rows:
            bars.append((at, row))
            items.append(rank_item(job.run, row.rank).text)
            ticks[at] = f"rank {row.rank}"
            at += 1
        at += 0.3
    for key, label in PARTS:
        color = part_color(key, palette)
        widths = [getattr(row, key) for _, row in bars]
        figure.add_bar(
            y=[position for position, _ in bars],
            x=[width * factor for width in widths],
            orientation="h",
            customdata=items,
            name=label,
            marker={"color": color, "line": {"width": 1, "color": palette.surface}},
            text=[
                f"{width * factor:.3g}" if width / longest > _LABELLED_SHARE else ""
                for width in widths
            ],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"size": 12, "color": palette.on(color)},
            hovertext=[_hover(row, label, width) for (_, row), width in
                       zip(bars, widths, strict=True)],
            hoverinfo="text",
        )  # fmt: skip
    figure.update_layout(
        barmode="stack",
        bargap=0.24,
        height=round(at * _ROW_PX) + _REST_PX,
        showlegend=False,
        margin={"r": 16, "t": 4},
        xaxis={"title": {"text": f"one step, {unit}"}, "range": [0, longest * factor * 1.02]},
        yaxis={
            "range": [at - 0.3, -0.7],
            "tickvals": list(ticks),
            "ticktext": list(ticks.values()),
            "showgrid": False,
        },
        uniformtext={"minsize": 11, "mode": "hide"},
    )
    return figure


def _hover(row: RankRow, label: str, width: float) -> str:
    share = format_share_of(width, row.step_ns)
    return (
        f"<b>rank {row.rank}</b><br>{label}: {format_duration(width)} · {share} of the step"
        f"<br>communication, hidden parts included: {format_duration(row.communication_ns)}"
        f"<br>waited for others: {format_duration(row.waited_ns)}"
        f"<br>made others wait: {format_duration(row.made_wait_ns)}"
    )
