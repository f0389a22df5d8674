"""The live set at the peak as an icicle: from the outermost line to the one that allocated."""

from dataclasses import dataclass
from itertools import islice, zip_longest

import plotly.graph_objects as go

from profiler_core.analysis.item import source_item
from profiler_core.analysis.memory.frames import n_shared
from profiler_core.analysis.memory.snapshot import SnapshotLive
from profiler_core.figures.icicle import icicle
from profiler_core.figures.names import plotly_text
from profiler_core.figures.theme import Palette
from profiler_core.units import format_bytes, format_count, format_share_of

_ROW_PX = 26
_MOST_BOXES = 1200
_MOST_ROWS = 14


@dataclass
class _Box:
    label: str
    parent: str
    line: str = ""  # of code, "modeling_bert.py:176"; "": it is of none
    n: int = 0
    bytes: int = 0


def memory_icicle(live: SnapshotLive, palette: Palette) -> go.Figure:
    """Boxes as wide as their bytes; what was there before the history is left out."""
    boxes = _boxes(live)
    total = boxes[""].bytes
    keys = sorted(boxes, key=lambda key: -boxes[key].bytes)[:_MOST_BOXES]
    depths = {key: key.count("\x1f") for key in keys}
    fills = [
        palette.line
        if not key
        else palette.tint(palette.accent, max(0.25, 0.85 - 0.09 * depths[key]))
        for key in keys
    ]
    rows = min(_MOST_ROWS, max(depths.values(), default=0) + 2)
    return icicle(
        [key or "all" for key in keys],
        ["" if not key else boxes[key].parent or "all" for key in keys],
        [boxes[key].label if key else f"{boxes[key].label}, {format_bytes(total)}" for key in keys],
        [boxes[key].bytes for key in keys],
        [_hover(boxes[key], total) for key in keys],
        fills,
        palette,
        height=rows * _ROW_PX,
        items=[source_item(boxes[key].line).text if boxes[key].line else "" for key in keys],
    )


def _boxes(live: SnapshotLive) -> dict[str, _Box]:
    """Key (frames joined) -> box; "" is the whole. No child is wider than its parent."""
    boxes = {"": _Box("allocated by the step, live at the peak", "")}
    paths = [origin.path or (origin.label,) for origin, _, _ in live.rows]
    shared = n_shared(paths)  # frames that all paths share are left out
    for (origin, n, size), path in zip(live.rows, paths, strict=True):
        key = ""
        boxes[""].n += n
        boxes[""].bytes += size
        frames = zip_longest(path, origin.lines, fillvalue="")  # what has no stack has no lines
        for frame, line in islice(frames, shared, shared + _MOST_ROWS - 1):
            parent, key = key, f"{key}\x1f{frame}"
            box = boxes.setdefault(key, _Box(frame, parent, line))
            box.n += n
            box.bytes += size
    return boxes


def _hover(box: _Box, total: int) -> str:
    share = format_share_of(box.bytes, total)
    buffers = f"{format_count(box.n)} buffer{'' if box.n == 1 else 's'}"
    return f"{plotly_text(box.label[:160])}<br>{format_bytes(box.bytes)} · {share} · {buffers}"
