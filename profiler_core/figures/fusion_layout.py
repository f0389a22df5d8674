"""Where what lies in the fusion map: GPU time of a step, baseline left, candidate right, ribbons.

One scale for both sides and for all candidates; the height that the shorter side lacks is the
saving. Several candidates stand beside each other, each with the baseline at its left.
"""

from collections.abc import Sequence
from math import floor, log10

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.figures.fusion_drawing import (
    Anchor,
    Axis,
    Drawing,
    Label,
    Saving,
    Words,
)
from profiler_core.figures.fusion_panel import RIBBON, Frame, Panel, draw_panel, frame_of
from profiler_core.figures.fusion_parts import drawn_parts
from profiler_core.figures.theme import Palette
from profiler_core.units import format_change_between, format_count, format_duration

_LEAST_PX = 1.6  # of a group on its longer side; smaller ones are joined


def fusion_layout(
    panels: Sequence[Panel],
    baseline: str,
    palette: Palette,
    *,
    height_px: int = 720,
    time: str = "GPU time",
    span: Span = PER_STEP,
    program_order: bool = False,
) -> Drawing:
    """Draw the groups of each panel in their order; what stands alone comes last."""
    totals = [
        (sum(g.baseline_ns for g in panel.groups), sum(g.candidate_ns for g in panel.groups))
        for panel in panels
    ]
    tall = max((side for pair in totals for side in pair), default=0.0) or 1.0
    unit, ticks, tick_texts = time_axis(tall)
    axis = Axis(f"{time} {span}, {unit}", tuple(zip(ticks, tick_texts, strict=True)))
    drawing = Drawing(height_px, tall, palette, axis)
    per_px = tall / drawing.plot_px
    for index, (panel, total) in enumerate(zip(panels, totals, strict=True)):
        frame = frame_of(index, len(panels), per_px)
        parts = drawn_parts(panel.groups, per_px * _LEAST_PX, program_order=program_order)
        draw_panel(drawing, parts, frame, index, panel)
        _draw_saving(drawing, total, frame, time)
        _head(drawing, panel, (baseline, panel.label), total, frame, len(panels))
    return drawing


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
    drawing: Drawing,
    panel: Panel,
    labels: tuple[str, str],
    totals: tuple[float, float],
    frame: Frame,
    n_panels: int,
) -> None:
    """Write name, time and kernels above either stack."""
    palette = drawing.palette
    ends: tuple[tuple[float, Anchor], ...] = ((frame.left[0], "start"), (frame.right[1], "end"))
    for side, (x, anchor) in enumerate(ends):
        kernels = sum(group.n_kernels[side] for group in panel.groups)
        copies = sum(group.n_copies[side] for group in panel.groups)
        memsets = sum(group.n_memsets[side] for group in panel.groups)
        text, more = f"{format_duration(totals[side])}", ""
        if n_panels < 3:
            text += f" · {format_count(kernels)} kernel{'' if kernels == 1 else 's'}"
        if n_panels == 1:  # beside each other there is no room for more
            if copies:
                more += f", {format_count(copies)} {'copy' if copies == 1 else 'copies'}"
            if memsets:
                more += f", {format_count(memsets)} memset{'' if memsets == 1 else 's'}"
        name = Words(clipped(labels[side], max(9, 52 // n_panels)), is_bold=True)
        below = [Words(text, colour=palette.muted, size_px=12)]
        if more:
            below.append(Words(more, colour=palette.muted, size_px=12, is_spare=True))
        lines = ((name,), tuple(below))
        drawing.labels.append(
            Label(x, 0, lines, palette.ink, 13, anchor, shift_px=(0, 25), is_head=True)
        )


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


def _draw_saving(drawing: Drawing, totals: tuple[float, float], frame: Frame, time: str) -> None:
    """Draw the difference of the two stacks as a dotted box with the change."""
    before, after = totals
    if not before or abs(after - before) < 0.02 * max(totals):
        return
    less, palette = after < before, drawing.palette
    x, colour = (frame.right, palette.better) if less else (frame.left, palette.worse)
    drawing.savings.append(Saving(x, (min(totals), max(totals)), colour))
    if abs(after - before) > frame.per_px * 44:
        change = format_change_between(before, after)
        wide = frame.characters > 60
        saved = Words(format_duration(abs(after - before)), is_bold=True)
        than = "less" if less else "more"
        lines = (
            ((saved, Words(f" {than}", is_spare=True)),) if wide else ((saved,), (Words(than),))
        ) + ((Words(change), *((Words(f" {time}", is_spare=True),) if wide else ())),)
        size_px = 13 if frame.characters > 30 else 10
        drawing.labels.append(
            Label(sum(x) / 2, sum(totals) / 2, lines, colour, size_px, is_boxed=not wide)
        )
