"""The allocator's segments as bars: what is in use, and what lies free between it."""

from collections.abc import Sequence

import plotly.graph_objects as go

from profiler_core.analysis.memory.segments import Segment, Segments
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_bytes

MOST_SEGMENTS = 24
_MOST_BLOCKS = 1500
_ROW_PX = 17
_LABEL_PX, _LETTER_PX, _STANDOFF_PX = 10, 6, 6


def memory_segments(
    segments: Segments, number: int, palette: Palette, *, beside: Sequence[Segments] = ()
) -> go.Figure:
    """A row for each of the largest segments, its blocks in order of address.

    Args:
        segments: of one device.
        number: of the run; chooses the colour.
        palette: of the mode.
        beside: of all runs whose figures stand beside this one: they share one scale of bytes.
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
    on_scale = [s for each in (segments, *beside) for s in each.segments[:MOST_SEGMENTS]]
    longest_bytes = max((segment.total_bytes for segment in on_scale), default=0)
    longest_label = max((len(_label(segment)) for segment in on_scale), default=0)
    figure.update_layout(
        height=max(4, len(shown)) * _ROW_PX + 56,
        barmode="overlay",
        bargap=0.25,
        margin={"l": _LETTER_PX * longest_label + _STANDOFF_PX},  # as wide as beside it
        xaxis={
            "title": {"text": "MB inside the segment"},
            "range": [0, longest_bytes / 1e6] if longest_bytes else None,
        },
        yaxis={
            "tickvals": list(range(len(shown))),
            "ticktext": [plotly_text(_label(segment)) for segment in shown],
            "autorange": "reversed",
            "showgrid": False,
            "tickfont": {"size": _LABEL_PX},
            "ticklabelstandoff": _STANDOFF_PX,
        },
    )
    return figure


def _label(segment: Segment) -> str:
    return segment.pool if segment.pool != "default" else segment.kind or "segment"


def _merged(blocks: tuple[tuple[int, bool], ...]) -> list[tuple[int, bool]]:
    """Neighbours of one state as one."""
    merged: list[tuple[int, bool]] = []
    for size, is_live in blocks:
        if merged and merged[-1][1] == is_live:
            merged[-1] = (merged[-1][0] + size, is_live)
        else:
            merged.append((size, is_live))
    return merged
