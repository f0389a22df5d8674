"""The allocator's segments as bars: what is in use, and what lies free between it."""

import plotly.graph_objects as go

from profiler_core.analysis.memory.segments import Segments
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_bytes

MOST_SEGMENTS = 24
_MOST_BLOCKS = 1500
_ROW_PX = 17


def memory_segments(segments: Segments, number: int, palette: Palette) -> go.Figure:
    """A row for each of the largest segments, its blocks in order of address.

    Args:
        segments: of one device.
        number: of the run; chooses the colour.
        palette: of the mode.
    """
    figure = new_figure(palette)
    shown = segments.segments[:MOST_SEGMENTS]
    rows: dict[bool, list[tuple[int, int, int, str]]] = {True: [], False: []}
    n_blocks_left = _MOST_BLOCKS
    for row, segment in enumerate(shown):
        start = 0
        for size, is_live in _merged(segment.blocks):
            if n_blocks_left > 0 and size:
                state = "in use" if is_live else "free"
                total = format_bytes(segment.total_bytes)
                pool_text = f"{segment.pool} pool, {segment.kind or ''} segment of {total}"
                text = f"{format_bytes(size)} {state}<br>{pool_text}"
                rows[is_live].append((row, start, size, text))
                n_blocks_left -= 1
            start += size
    for is_live, color, name in (
        (True, palette.run(number), "in use"),
        (False, palette.idle, "free"),
    ):
        bars = rows[is_live]
        figure.add_bar(
            orientation="h",
            y=[row for row, _, _, _ in bars],
            base=[start / 1e6 for _, start, _, _ in bars],
            x=[size / 1e6 for _, _, size, _ in bars],
            marker={"color": color, "line": {"width": 0}},
            hovertext=[text for _, _, _, text in bars],
            hoverinfo="text",
            name=name,
            showlegend=False,
        )
    labels = [
        plotly_text(segment.pool if segment.pool != "default" else segment.kind or "segment")
        for segment in shown
    ]
    figure.update_layout(
        height=max(4, len(shown)) * _ROW_PX + 56,
        barmode="overlay",
        bargap=0.25,
        xaxis={"title": {"text": "MB inside the segment"}, "rangemode": "tozero"},
        yaxis={
            "tickvals": list(range(len(shown))),
            "ticktext": labels,
            "autorange": "reversed",
            "showgrid": False,
            "tickfont": {"size": 10},
            "ticklabelstandoff": 6,
        },
    )
    return figure


def _merged(blocks: tuple[tuple[int, bool], ...]) -> list[tuple[int, bool]]:
    """Neighbours of one state as one."""
    merged: list[tuple[int, bool]] = []
    for size, is_live in blocks:
        if merged and merged[-1][1] == is_live:
            merged[-1] = (merged[-1][0] + size, is_live)
        else:
            merged.append((size, is_live))
    return merged
