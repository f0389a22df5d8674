"""The fusion map: GPU time of a step, baseline left, candidate right, ribbons for what became what.

One scale for both sides and for all candidates; the height that the shorter side lacks is the
saving. Several candidates stand beside each other, each with the baseline at its left.
"""

from collections.abc import Sequence
from math import floor, log10

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.figures.fusion_panel import (
    RIBBON,
    Frame,
    Outline,
    Panel,
    draw_panel,
    frame_of,
)
from profiler_core.figures.fusion_parts import drawn_parts
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import Figure, new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_change, format_count, format_duration

__all__ = ["Panel", "fusion_legend", "fusion_map", "fusion_maps"]

_LEAST_PX = 1.6  # of a group on its longer side; smaller ones are joined
_HEAD_PX = 50


def fusion_map(
    groups: Sequence[FoldedGroup],
    labels: tuple[str, str],
    palette: Palette,
    *,
    height_px: int = 720,
    selected: int | None = None,
    time: str = "GPU time",
    program_order: bool = False,
) -> Figure:
    """One candidate: `fusion_maps` with a single panel."""
    return fusion_maps(
        [Panel(labels[1], groups, selected)], labels[0], palette,
        height_px=height_px, time=time, program_order=program_order,
    )  # fmt: skip


def fusion_maps(
    panels: Sequence[Panel],
    baseline: str,
    palette: Palette,
    *,
    height_px: int = 720,
    time: str = "GPU time",
    program_order: bool = False,
) -> Figure:
    """Draw the groups of each panel in their order; what stands alone comes last.

    The traces named "groups" carry (place in the panel's groups or -1, panel) as customdata, for
    clicks.
    """
    totals = [
        (sum(g.baseline_ns for g in panel.groups), sum(g.candidate_ns for g in panel.groups))
        for panel in panels
    ]
    tall = max((side for pair in totals for side in pair), default=0.0) or 1.0
    per_px = tall / max(1, height_px - _HEAD_PX - 8)
    figure = new_figure(palette)
    bars: dict[str, Outline] = {}
    ribbons: dict[tuple[str, float], Outline] = {}
    for index, (panel, total) in enumerate(zip(panels, totals, strict=True)):
        frame = frame_of(index, len(panels), per_px)
        parts = drawn_parts(panel.groups, per_px * _LEAST_PX, program_order=program_order)
        draw_panel(figure, parts, palette, frame, (bars, ribbons), index, panel)
        _draw_saving(figure, total, palette, frame, time)
        _head(figure, panel, (baseline, panel.label), total, palette, frame, len(panels))
    _fill(figure, bars, ribbons, palette)
    unit, ticks, tick_texts = time_axis(tall)
    figure.update_layout(
        height=height_px, showlegend=False, margin={"l": 56, "r": 8, "t": _HEAD_PX, "b": 8},
        barmode="overlay", clickmode="event+select", dragmode=False, hovermode="closest",
        xaxis={"visible": False, "range": [-0.002, 1.002]},
        yaxis={
            "range": [tall * 1.005, 0], "tickvals": ticks,
            "ticktext": tick_texts,
            "title": {"text": f"{time} of a step, {unit}"},
        },
    )  # fmt: skip
    return figure


def fusion_legend(groups: Sequence[FoldedGroup], palette: Palette) -> tuple[tuple[str, str], ...]:
    """(label, colour) of every category that is drawn, and of the ribbons as they look."""
    present = {c for g in groups for side in (0, 1) for c in g.by_category(side)}
    entries = [
        (label, palette.category(key)) for key, label in CATEGORIES.items() if key in present
    ]
    return (
        *entries,
        ("ribbon: faster", palette.tint(palette.better, RIBBON)),
        ("ribbon: slower", palette.tint(palette.worse, RIBBON)),
        ("ribbon: within 5 %", palette.tint(palette.baseline, RIBBON)),
    )


def _head(
    figure: Figure,
    panel: Panel,
    labels: tuple[str, str],
    totals: tuple[float, float],
    palette: Palette,
    frame: Frame,
    n_panels: int,
) -> None:
    """Write name, time and kernels above either stack."""
    for side, x, anchor in ((0, frame.left[0], "left"), (1, frame.right[1], "right")):
        kernels = sum(group.n_kernels[side] for group in panel.groups)
        copies = sum(group.n_copies[side] for group in panel.groups)
        text = f"{format_duration(totals[side])}"
        if n_panels < 3:
            text += f" · {format_count(kernels)} kernel{'' if kernels == 1 else 's'}"
        if copies and n_panels < 3:
            text += f", {format_count(copies)} {'copy' if copies == 1 else 'copies'}"
        name = plotly_text(clipped(labels[side], max(9, 52 // n_panels)))
        figure.add_annotation(
            x=x, y=0, yshift=25, showarrow=False, xanchor=anchor, align=anchor,
            text=f'<b>{name}</b><br><span style="font-size:12px;color:{palette.muted}">'
            f"{text}</span>",
            font={"size": 13, "color": palette.ink},
        )  # fmt: skip


def time_axis(tall_ns: float) -> tuple[str, list[float], list[str]]:
    """(unit, ticks in ns, tick labels) of an axis from 0; never four digits or 1e+03."""
    factor, unit = next(
        ((f, u) for f, u in ((1e-9, "s"), (1e-6, "ms")) if tall_ns * f >= 1), (1e-3, "µs")
    )
    ticks = _round_ticks(tall_ns)
    return unit, ticks, [f"{tick * factor:.3g}" for tick in ticks]


def _round_ticks(tall: float) -> list[float]:
    """Four to nine ticks at 1, 2 or 5 times a power of ten."""
    step = 10 ** floor(log10(tall))
    step = next(s for s in (step, step / 2, step / 5, step / 10) if tall / s >= 4)
    return [step * i for i in range(int(tall / step) + 1)]


def _fill(
    figure: Figure,
    bars: dict[str, Outline],
    ribbons: dict[tuple[str, float], Outline],
    palette: Palette,
) -> None:
    hairline = {"width": 0.8, "color": palette.surface}  # keeps neighbours apart
    for (colour, opacity), (xs, ys) in ribbons.items():
        figure.add_scatter(
            x=xs, y=ys, fill="toself", mode="lines", line=hairline, hoverinfo="skip",
            fillcolor=_translucent(colour, opacity),
        )  # fmt: skip
    for category, (xs, ys) in bars.items():
        figure.add_scatter(
            x=xs, y=ys, fill="toself", mode="lines", line={"width": 0}, hoverinfo="skip",
            fillcolor=palette.category(category),
        )  # fmt: skip


def _draw_saving(
    figure: Figure, totals: tuple[float, float], palette: Palette, frame: Frame, time: str
) -> None:
    """Draw the difference of the two stacks as a dotted box with the change."""
    before, after = totals
    if not before or abs(after - before) < 0.02 * max(totals):
        return
    less = after < before
    x, colour = (frame.right, palette.better) if less else (frame.left, palette.worse)
    figure.add_shape(
        type="rect", x0=x[0], x1=x[1], y0=min(totals), y1=max(totals),
        line={"width": 1, "dash": "dot", "color": colour}, fillcolor=_translucent(colour, 0.07),
    )  # fmt: skip
    if abs(after - before) > frame.per_px * 44:
        change = format_change(after / before)
        wide = frame.characters > 60
        figure.add_annotation(
            x=sum(x) / 2, y=sum(totals) / 2, showarrow=False,
            font={"size": 13 if frame.characters > 30 else 10.5, "color": colour},
            text=f"<b>{format_duration(abs(after - before))}</b>"
            f"{' ' if wide else '<br>'}{'less' if less else 'more'}<br>"
            f"{change}{f' {time}' if wide else ''}",
        )  # fmt: skip


def _translucent(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
