"""Memory along the profiled steps: the runs over each other, aligned at a step's start."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from profiler_core.analysis.memory.curve import MemoryCurve, decimated
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_bytes

_HEIGHT_PX = 320
_MOST_POINTS = 3000  # of one line


@dataclass(frozen=True)
class CurveSide:
    """One run's line."""

    label: str
    number: int  # 0 the baseline; chooses the colour
    curve: MemoryCurve
    origin_ns: int  # on the curve's clock: where the axis begins
    end_ns: int | None = None  # where the line ends; None: at the end
    before_bytes: int = 0  # taken off the allocated line


def curve_side(
    label: str, number: int, curve: MemoryCurve, step: int, before_bytes: int
) -> CurveSide:
    """A run's line along one step.

    Args:
        label: what the run is called.
        number: its place; 0 is the baseline.
        curve: of the whole trace.
        step: which one, from 0; -1 for all.
        before_bytes: taken off the line.
    """
    starts = curve.step_ts_ns
    origin = starts[max(step, 0)] if starts else int(curve.ts_ns[0])
    ends = starts[step + 1] if 0 <= step < len(starts) - 1 else None
    return CurveSide(label, number, curve, origin, ends, before_bytes)


def memory_curve(sides: Sequence[CurveSide], palette: Palette, *, reserved: bool) -> go.Figure:
    """Lines of allocated bytes, stepwise; with `reserved` also what the allocator held, dashed."""
    figure = new_figure(palette)
    for side in sides:
        curve = decimated(_cut(side), _MOST_POINTS)
        color = palette.run(side.number)
        name = plotly_text(side.label)
        x = (curve.ts_ns - side.origin_ns) / 1e6
        figure.add_scatter(
            x=x,
            y=(curve.allocated_bytes - side.before_bytes) / 1e6,
            mode="lines",
            line={"shape": "hv", "color": color, "width": 1.6},
            name=name,
            customdata=[format_bytes(float(v)) for v in curve.allocated_bytes - side.before_bytes],
            hovertemplate=f"{name}<br>%{{x:.3f}} ms: %{{customdata}}<extra></extra>",
        )
        if reserved and curve.reserved_bytes is not None:
            figure.add_scatter(
                x=x,
                y=curve.reserved_bytes / 1e6,
                mode="lines",
                line={"shape": "hv", "color": color, "width": 1.2, "dash": "dot"},
                name=f"{name}, reserved",
                customdata=[format_bytes(float(v)) for v in curve.reserved_bytes],
                hovertemplate=f"{name}, reserved: %{{customdata}}<extra></extra>",
            )
    figure.update_layout(
        height=_HEIGHT_PX,
        xaxis={"title": {"text": "ms since the beginning, on the host's clock"}},
        yaxis={"title": {"text": "MB"}, "rangemode": "tozero"},
        showlegend=False,
        hovermode="closest",
    )
    return figure


def _cut(side: CurveSide) -> MemoryCurve:
    """From the origin to the end, with the level that held at the origin."""
    curve = side.curve
    first = max(0, int(curve.ts_ns.searchsorted(side.origin_ns, side="right")) - 1)
    end = curve.ts_ns.max() + 1 if side.end_ns is None else side.end_ns
    last = max(first + 1, int(curve.ts_ns.searchsorted(end, side="left")))
    times = curve.ts_ns[first:last].clip(min=side.origin_ns)
    reserved = None if curve.reserved_bytes is None else curve.reserved_bytes[first:last]
    return MemoryCurve(
        curve.device_type,
        curve.device_id,
        times,
        curve.allocated_bytes[first:last],
        reserved,
        curve.step_ts_ns,
    )
