"""The fusion map: GPU time of a step, baseline left, candidate right, ribbons for what became what.

One scale for both sides and for all candidates; the height that the shorter side lacks is the
saving. Several candidates stand beside each other, each with the baseline at its left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.ledger.result import Kind
from profiler_core.figures.fusion_parts import Part, drawn_parts
from profiler_core.figures.names import clipped, plotly_text
from profiler_core.figures.template import Figure, new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_change, format_duration

_STACK = 0.17  # width of either stack, of a panel's
_GAP = 0.035  # between panels, of the whole
_LEAST_PX = 1.6  # of a group on its longer side; smaller ones are joined
_LABEL_PX = 17  # a ribbon as high as this has room for its name
_HEAD_PX = 50
_WIDTH_CHARACTERS = 120  # of 12 px letters in the whole picture, at 1280 px
_SAME = 0.05  # changes within this are "alike"
_RIBBON, _FAINT, _STRONG = 0.26, 0.1, 0.5  # opacities: all, not selected, selected
_CURVE = tuple((i / 20, 3 * (i / 20) ** 2 - 2 * (i / 20) ** 3) for i in range(21))
_ALONE: dict[Kind, str] = {
    "removed": "no longer computed",
    "only in the candidate": "only here",
    "unmatched": "no counterpart found",
}

Outline = tuple[list[float | None], list[float | None]]


@dataclass(frozen=True)
class Panel:
    """One candidate against the baseline."""

    label: str
    groups: Sequence[FoldedGroup]
    selected: int | None = None  # place of the open group in `groups`


@dataclass(frozen=True)
class _Frame:
    """Where a panel lies, and what a pixel is worth."""

    left: tuple[float, float]
    right: tuple[float, float]
    per_px: float
    characters: int  # that the ribbons have room for

    @property
    def ribbon(self) -> tuple[float, float]:
        return self.left[1] + 0.003, self.right[0] - 0.003


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
    for place, (panel, total) in enumerate(zip(panels, totals, strict=True)):
        frame = _frame(place, len(panels), per_px)
        parts = drawn_parts(panel.groups, per_px * _LEAST_PX, program_order=program_order)
        _draw(figure, parts, palette, frame, (bars, ribbons), place, panel)
        _draw_saving(figure, total, palette, frame, time)
        _head(figure, panel, (baseline, panel.label), total, palette, frame, len(panels))
    _fill(figure, bars, ribbons, palette)
    factor, unit = (1e-6, "ms") if tall >= 1e6 else (1e-3, "µs")
    ticks = _round_ticks(tall)
    figure.update_layout(
        height=height_px, showlegend=False, margin={"l": 56, "r": 8, "t": _HEAD_PX, "b": 8},
        barmode="overlay", clickmode="event+select", dragmode=False, hovermode="closest",
        xaxis={"visible": False, "range": [-0.002, 1.002]},
        yaxis={
            "range": [tall * 1.005, 0], "tickvals": ticks,
            "ticktext": [f"{tick * factor:.3g}" for tick in ticks],
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
        ("ribbon: faster", palette.tint(palette.better, _RIBBON)),
        ("ribbon: slower", palette.tint(palette.worse, _RIBBON)),
        ("ribbon: within 5 %", palette.tint(palette.baseline, _RIBBON)),
    )


def _frame(place: int, n_panels: int, per_px: float) -> _Frame:
    width = (1 - _GAP * (n_panels - 1)) / n_panels
    x = place * (width + _GAP)
    stack = width * _STACK
    characters = int(_WIDTH_CHARACTERS * (width - 2 * stack))
    return _Frame((x, x + stack), (x + width - stack, x + width), per_px, characters)


def _head(
    figure: Figure,
    panel: Panel,
    labels: tuple[str, str],
    totals: tuple[float, float],
    palette: Palette,
    frame: _Frame,
    n_panels: int,
) -> None:
    """Name, time and kernels above either stack, in two lines that never meet."""
    for side, x, anchor in ((0, frame.left[0], "left"), (1, frame.right[1], "right")):
        kernels = sum(group.n_kernels[side] for group in panel.groups)
        copies = sum(group.n_copies[side] for group in panel.groups)
        text = f"{format_duration(totals[side])}"
        if n_panels < 4:
            text += f" · {kernels:.0f} kernel{'' if round(kernels) == 1 else 's'}"
        if copies >= 0.5 and n_panels < 3:
            text += f", {copies:.0f} {'copies' if round(copies) > 1 else 'copy'}"
        name = plotly_text(clipped(labels[side], max(9, 52 // n_panels)))
        figure.add_annotation(
            x=x, y=0, yshift=25, showarrow=False, xanchor=anchor, align=anchor,
            text=f'<b>{name}</b><br><span style="font-size:12px;color:{palette.muted}">'
            f"{text}</span>",
            font={"size": 13, "color": palette.ink},
        )  # fmt: skip


def _round_ticks(tall: float) -> list[float]:
    """Four to nine ticks at 1, 2 or 5 times a power of ten."""
    step = 10 ** floor(log10(tall))
    step = next(s for s in (step, step / 2, step / 5, step / 10) if tall / s >= 4)
    return [step * i for i in range(int(tall / step) + 1)]


def _draw(
    figure: Figure,
    parts: Sequence[Part],
    palette: Palette,
    frame: _Frame,
    into: tuple[dict[str, Outline], dict[tuple[str, float], Outline]],
    place: int,
    panel: Panel,
) -> None:
    bars, ribbons = into
    targets: list[tuple[float, float, str, int]] = []
    at = [0.0, 0.0]
    named_until = -frame.per_px * _LABEL_PX
    for part in parts:
        tops = (at[0], at[1])
        for side, x in ((0, frame.left), (1, frame.right)):
            gap = frame.per_px * 0.5 if part.heights[side] > 3 * frame.per_px else 0.0
            y = at[side]
            for category, ns in part.sides[side].items():
                _rectangle(bars.setdefault(category, ([], [])), x, y, y + ns - gap)
                y += ns
            at[side] = y
        before, after = part.heights
        if before and after:
            opacity = _RIBBON
            if panel.selected is not None:
                opacity = _STRONG if part.number == panel.selected else _FAINT
            key = (_ribbon_colour(part, palette), opacity)
            _band(ribbons.setdefault(key, ([], [])), frame.ribbon, tops, (at[0], at[1]))
        high = max((at[0] - tops[0] + at[1] - tops[1]) / 2, frame.per_px)
        middle = (tops[0] + at[0] + tops[1] + at[1]) / 4
        targets.append((middle, high, _hover(part), -1 if part.number is None else part.number))
        if high <= frame.per_px * _LABEL_PX:
            continue
        if before and after:
            if middle - named_until > frame.per_px * _LABEL_PX:
                _name(figure, part, palette, frame, middle)
                named_until = middle
        elif max(before, after) > frame.per_px * _LABEL_PX:
            _name_alone(figure, part, palette, frame, (tops[0] + at[0], tops[1] + at[1]))
    # Clicks and hovers go to invisible bars: a filled area reports neither.
    figure.add_bar(
        name="groups", orientation="h", base=frame.left[0],
        x=[frame.right[1] - frame.left[0]] * len(targets),
        y=[t[0] for t in targets], width=[t[1] for t in targets],
        marker={"color": "rgba(0,0,0,0)", "line": {"width": 0}},
        customdata=[[t[3], place] for t in targets],
        hovertext=[t[2] for t in targets], hoverinfo="text",
        selected={"marker": {"opacity": 0}}, unselected={"marker": {"opacity": 0}},
    )  # fmt: skip


def _name(figure: Figure, part: Part, palette: Palette, frame: _Frame, y: float) -> None:
    """What it is and its times, on the ribbon; as much as there is room for."""
    times = _times(*part.heights)
    room = frame.characters - len(times) - 3
    text = f"<b>{times}</b>"
    if room >= 8:
        title = clipped(part.title, room)
        text = f"{plotly_text(title)}   {text}"
        if part.source and len(title) + len(part.source) + 3 <= room:
            text += f'   <span style="color:{palette.muted}">{plotly_text(part.source)}</span>'
    figure.add_annotation(
        x=sum(frame.ribbon) / 2, y=y, showarrow=False, text=text,
        font={"size": 12, "color": palette.ink},
    )  # fmt: skip


def _name_alone(
    figure: Figure, part: Part, palette: Palette, frame: _Frame, sums: tuple[float, float]
) -> None:
    """Beside its stack, where no ribbon is."""
    side = 0 if part.heights[0] else 1
    why = _ALONE.get(part.kind, "")
    room = frame.characters // 2 - len(why) - 2
    title = plotly_text(clipped(part.title, room)) + ", " if room >= 8 else ""
    figure.add_annotation(
        x=frame.ribbon[side], y=sums[side] / 2, showarrow=False,
        xanchor=("left", "right")[side], xshift=(6, -6)[side], text=f"{title}{why}",
        font={"size": 12, "color": palette.muted},
    )  # fmt: skip


def _times(before: float, after: float) -> str:
    """`495 → 228 µs`: the unit once where both share it."""
    one, two = format_duration(before), format_duration(after)
    number, unit = one.split(" ")
    return f"{number} → {two}" if two.endswith(f" {unit}") else f"{one} → {two}"


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
    figure: Figure, totals: tuple[float, float], palette: Palette, frame: _Frame, time: str
) -> None:
    """The height that one side lacks."""
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
            x=sum(x) / 2, y=sum(totals) / 2, showarrow=False, font={"size": 13, "color": colour},
            text=f"<b>{format_duration(abs(after - before))}</b>"
            f"{' ' if wide else '<br>'}{'less' if less else 'more'}<br>"
            f"{change}{f' {time}' if wide else ''}",
        )  # fmt: skip


def _rectangle(into: Outline, x: tuple[float, float], y0: float, y1: float) -> None:
    into[0].extend((x[0], x[1], x[1], x[0], x[0], None))
    into[1].extend((y0, y0, y1, y1, y0, None))


def _band(
    into: Outline,
    x: tuple[float, float],
    tops: tuple[float, float],
    ends: tuple[float, float],
) -> None:
    xs = [x[0] + (x[1] - x[0]) * t for t, _ in _CURVE]
    upper = [tops[0] + (tops[1] - tops[0]) * e for _, e in _CURVE]
    lower = [ends[0] + (ends[1] - ends[0]) * e for _, e in _CURVE]
    into[0].extend([*xs, *reversed(xs), xs[0], None])
    into[1].extend([*upper, *reversed(lower), upper[0], None])


def _ribbon_colour(part: Part, palette: Palette) -> str:
    before, after = part.heights
    if after < (1 - _SAME) * before:
        return palette.better
    return palette.worse if after > (1 + _SAME) * before else palette.baseline


def _hover(part: Part) -> str:
    before, after = part.heights
    lines = [
        f"<b>{plotly_text(clipped(part.title, 90))}</b>",
        f"{part.n_kernels[0]:.0f} kernels, {format_duration(before)} → "
        f"{part.n_kernels[1]:.0f}, {format_duration(after)}",
    ]
    if part.number is not None and part.kind in _ALONE:
        lines.append(_ALONE[part.kind])
    lines += [plotly_text(text) for text in (part.module, part.source) if text]
    return "<br>".join(lines)


def _translucent(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
