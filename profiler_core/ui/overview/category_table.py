"""How many kernels of each kind a step runs and how long they take, all runs side by side."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.compare import Side
from profiler_core.figures.names import clipped
from profiler_core.ui.style import colors
from profiler_core.units import format_count, format_duration

_BAR_PX = 72
_LONGEST_HEAD = 34  # characters of a run's name
_WIDTHS = (280, 290)  # px: of the names, and of each run


def show_categories(sides: Sequence[Side]) -> None:
    """One row a category; for each run the count, and a bar of the time beside it.

    Bars share one scale. They show the time that stands beside them, not the count: many short
    kernels would else look dearer than a few long ones.
    """
    palette = colors()
    counts = [side.per_step.category_n if side.per_step else {} for side in sides]
    times = [side.per_step.category_time_ns if side.per_step else {} for side in sides]
    longest = max((ns for run in times for ns in run.values()), default=0.0)
    rows = []
    for name, label in CATEGORIES.items():
        if not any(name in run for run in counts):
            continue
        color = palette.category(name)
        cells = "".join(
            _cell(count.get(name, 0.0), time.get(name, 0.0), longest, color, is_known=bool(count))
            for count, time in zip(counts, times, strict=True)
        )
        swatch = f'<span class=fs-swatch style="background:{color}"></span>'
        rows.append(f"<tr><th scope=row>{swatch}{escape(label)}</th>{cells}</tr>")
    heads = "".join(
        f"<th class=fs-n></th><th class=fs-of-run>{escape(clipped(s.label, _LONGEST_HEAD))}</th>"
        for s in sides
    )
    width = _WIDTHS[0] + _WIDTHS[1] * len(sides)
    st.html(
        f'<div class=fs-scroll><table class="fs-t fs-counts" style="max-width:{width}px">'
        f"<thead><tr><th></th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(n: float, time_ns: float, longest_ns: float, color: str, *, is_known: bool) -> str:
    if not is_known:
        return "<td class=fs-n>–</td><td class=fs-bar-cell><span class=fs-phone>–</span></td>"
    if not n:
        return "<td class=fs-n>·</td><td class=fs-bar-cell><span class=fs-phone>·</span></td>"
    width = max(round(_BAR_PX * time_ns / longest_ns), 1) if longest_ns else 1
    bar = f'<span class=fs-share style="width:{width}px;background:{color}"></span>'
    time = f"<small>{format_duration(time_ns)}</small>"
    count = format_count(n)
    return (
        f"<td class=fs-n>{count}</td>"
        f"<td class=fs-bar-cell><span class=fs-phone>{count} ×<br></span>{bar}{time}</td>"
    )
