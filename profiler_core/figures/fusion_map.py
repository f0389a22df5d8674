"""The fusion map: GPU time of a step, baseline left, candidate right, ribbons for what became what.

One scale for both sides; the height that the shorter side lacks is the saving. Groups that would
be thinner than a pixel are drawn as one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.figures.template import Figure, new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_change, format_duration

_LEFT, _RIGHT = (0.0, 0.17), (0.83, 1.0)  # the two stacks
_RIBBON = (_LEFT[1] + 0.004, _RIGHT[0] - 0.004)
_LEAST_PX = 1.6  # of a group on its longer side; smaller ones are joined
_LABEL_PX = 17  # a ribbon as high as this has room for its name
_SAME = 0.05  # changes within this are "alike"
_CURVE = tuple((i / 16, 3 * (i / 16) ** 2 - 2 * (i / 16) ** 3) for i in range(17))


@dataclass(frozen=True)
class _Part:
    """What is drawn as one: a folded group, or the small ones together."""

    title: str
    kind: str
    sides: tuple[dict[str, float], dict[str, float]]  # category -> ns a step
    number: int | None  # place in the given groups; None: many small ones
    n_kernels: tuple[float, float]
    source: str

    @property
    def heights(self) -> tuple[float, float]:
        """Ns a step of either side."""
        return sum(self.sides[0].values()), sum(self.sides[1].values())


def fusion_map(
    groups: Sequence[FoldedGroup],
    labels: tuple[str, str],
    palette: Palette,
    *,
    height_px: int = 720,
    selected: int | None = None,
    time: str = "GPU time",
) -> Figure:
    """Draw folded groups in their order; matched ones first, what stands alone below.

    The trace named "groups" carries each ribbon's place in `groups` as customdata, for clicks.
    """
    totals = (sum(g.baseline_ns for g in groups), sum(g.candidate_ns for g in groups))
    tall = max(*totals, 1.0)
    per_px = tall / max(1, height_px - 70)
    parts = _parts(groups, per_px * _LEAST_PX)
    figure = new_figure(palette)
    _draw(figure, parts, palette, per_px, selected)
    _draw_saving(figure, totals, palette, time)
    factor, unit = (1e-6, "ms") if tall >= 1e6 else (1e-3, "µs")
    counts = [sum(g.n_kernels[s] for g in groups) for s in (0, 1)]
    for x, anchor, label, total, n in zip(
        (0.0, 1.0), ("left", "right"), labels, totals, counts, strict=True
    ):
        figure.add_annotation(
            x=x, y=0, yshift=22, showarrow=False, xanchor=anchor,
            text=f"<b>{escape(_short(label))}</b>  {format_duration(total)}, {n:.0f} kernels",
            font={"size": 13, "color": palette.ink},
        )  # fmt: skip
    ticks = _round_ticks(tall)
    figure.update_layout(
        height=height_px, showlegend=False, margin={"l": 56, "r": 8, "t": 40, "b": 8},
        barmode="overlay", clickmode="event+select", dragmode=False,
        xaxis={"visible": False, "range": [-0.002, 1.002]},
        yaxis={
            "range": [tall * 1.005, 0], "tickvals": ticks,
            "ticktext": [f"{tick * factor:.3g}" for tick in ticks],
            "title": {"text": f"{time} of a step, {unit}"},
        },
    )  # fmt: skip
    return figure


def fusion_legend(groups: Sequence[FoldedGroup], palette: Palette) -> tuple[tuple[str, str], ...]:
    """(label, colour) of every category that is drawn, and of the ribbons."""
    present = {c for g in groups for side in (0, 1) for c in g.by_category(side)}
    entries = [
        (label, palette.category(key)) for key, label in CATEGORIES.items() if key in present
    ]
    return (
        *entries,
        ("ribbon: faster", palette.better),
        ("ribbon: slower", palette.worse),
        ("ribbon: within 5 %", palette.baseline),
    )


def _round_ticks(tall: float) -> list[float]:
    """Four to nine ticks at 1, 2 or 5 times a power of ten."""
    step = 10 ** floor(log10(tall))
    step = next(s for s in (step, step / 2, step / 5, step / 10) if tall / s >= 4)
    return [step * i for i in range(int(tall / step) + 1)]


def _parts(groups: Sequence[FoldedGroup], least: float) -> list[_Part]:
    """Matched groups in order, then what stands alone; neighbours below `least` are joined."""
    parts: list[_Part] = []
    waiting: list[FoldedGroup] = []
    order = sorted(range(len(groups)), key=lambda i: groups[i].kind not in ("matched", "removed"))

    def flush() -> None:
        if waiting:
            parts.append(_joined(waiting))
            waiting.clear()

    for number in order:
        group = groups[number]
        if waiting and (waiting[0].kind == "matched") != (group.kind == "matched"):
            flush()
        if max(group.baseline_ns, group.candidate_ns) < least:
            waiting.append(group)
            continue
        flush()
        source = group.first.sources[0][0] if group.first.sources else ""
        parts.append(
            _Part(
                group.title,
                group.kind,
                (group.by_category(0), group.by_category(1)),
                number,
                group.n_kernels,
                source,
            )
        )
    flush()
    return parts


def _joined(groups: Sequence[FoldedGroup]) -> _Part:
    sides: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for group in groups:
        for side in (0, 1):
            for category, ns in group.by_category(side).items():
                sides[side][category] = sides[side].get(category, 0.0) + ns
    n = sum(len(group.groups) for group in groups)
    kernels = (sum(g.n_kernels[0] for g in groups), sum(g.n_kernels[1] for g in groups))
    return _Part(f"{n} smaller groups", groups[0].kind, sides, None, kernels, "")


def _draw(
    figure: Figure, parts: Sequence[_Part], palette: Palette, per_px: float, selected: int | None
) -> None:
    bars: dict[str, tuple[list[float | None], list[float | None]]] = {}
    ribbons: dict[str, tuple[list[float | None], list[float | None]]] = {}
    targets: list[tuple[float, float, str, int | None]] = []
    at = [0.0, 0.0]
    named_until = -1.0
    for part in parts:
        tops = (at[0], at[1])
        for side, x in ((0, _LEFT), (1, _RIGHT)):
            gap = per_px * 0.5 if part.heights[side] > 3 * per_px else 0.0
            y = at[side]
            for category, ns in part.sides[side].items():
                _rectangle(bars.setdefault(category, ([], [])), x, y, y + ns - gap)
                y += ns
            at[side] = y
        before, after = part.heights
        colour = _ribbon_colour(part, palette)
        if before and after:
            emphasis = "" if selected is None or part.number == selected else " faint"
            _band(ribbons.setdefault(colour + emphasis, ([], [])), tops, (at[0], at[1]))
        middle = (tops[0] + at[0] + tops[1] + at[1]) / 4
        high = max((at[0] - tops[0] + at[1] - tops[1]) / 2, per_px)
        targets.append((middle, high, _hover(part), part.number))
        if (
            high > per_px * _LABEL_PX
            and middle - named_until > per_px * _LABEL_PX
            and before
            and after
        ):
            figure.add_annotation(
                x=0.5, y=middle, showarrow=False,
                text=f"{escape(_short(part.title))}   <b>{format_duration(before)} → "
                f"{format_duration(after)}</b>   "
                f'<span style="color:{palette.muted}">{escape(part.source)}</span>',
                font={"size": 12, "color": palette.ink},
            )  # fmt: skip
            named_until = middle
    hairline = {"width": 0.8, "color": palette.surface}  # keeps neighbours apart
    for colour, (xs, ys) in ribbons.items():
        name, _, faint = colour.partition(" ")
        figure.add_scatter(
            x=xs, y=ys, fill="toself", mode="lines", line=hairline, hoverinfo="skip",
            fillcolor=_translucent(name, 0.1 if faint else 0.26),
        )  # fmt: skip
    for category, (xs, ys) in bars.items():
        figure.add_scatter(
            x=xs, y=ys, fill="toself", mode="lines", line={"width": 0}, hoverinfo="skip",
            fillcolor=palette.category(category),
        )  # fmt: skip
    # Clicks and hovers go to invisible bars: a filled area reports neither.
    figure.add_bar(
        name="groups", orientation="h", base=0, x=[1.0] * len(targets),
        y=[t[0] for t in targets], width=[t[1] for t in targets],
        marker={"color": "rgba(0,0,0,0)", "line": {"width": 0}},
        customdata=[[-1 if t[3] is None else t[3]] for t in targets],
        hovertext=[t[2] for t in targets], hoverinfo="text",
        selected={"marker": {"opacity": 0}}, unselected={"marker": {"opacity": 0}},
    )  # fmt: skip


def _draw_saving(figure: Figure, totals: tuple[float, float], palette: Palette, time: str) -> None:
    """The height that one side lacks."""
    before, after = totals
    if not before or abs(after - before) < 0.02 * max(totals):
        return
    x, colour = (_RIGHT, palette.better) if after < before else (_LEFT, palette.worse)
    figure.add_shape(
        type="rect", x0=x[0], x1=x[1], y0=min(totals), y1=max(totals),
        line={"width": 1, "dash": "dot", "color": colour}, fillcolor=_translucent(colour, 0.07),
    )  # fmt: skip
    word = "less" if after < before else "more"
    if abs(after - before) > 0.06 * max(totals):
        figure.add_annotation(
            x=sum(x) / 2, y=sum(totals) / 2, showarrow=False, font={"size": 13, "color": colour},
            text=f"<b>{format_duration(abs(after - before))}</b> {word}<br>"
            f"{format_change(after / before)} {time}",
        )  # fmt: skip


def _rectangle(
    into: tuple[list[float | None], list[float | None]],
    x: tuple[float, float],
    y0: float,
    y1: float,
) -> None:
    into[0].extend((x[0], x[1], x[1], x[0], x[0], None))
    into[1].extend((y0, y0, y1, y1, y0, None))


def _band(
    into: tuple[list[float | None], list[float | None]],
    tops: tuple[float, float],
    ends: tuple[float, float],
) -> None:
    xa, xb = _RIBBON
    xs = [xa + (xb - xa) * t for t, _ in _CURVE]
    upper = [tops[0] + (tops[1] - tops[0]) * e for _, e in _CURVE]
    lower = [ends[0] + (ends[1] - ends[0]) * e for _, e in _CURVE]
    into[0].extend([*xs, *reversed(xs), xs[0], None])
    into[1].extend([*upper, *reversed(lower), upper[0], None])


def _ribbon_colour(part: _Part, palette: Palette) -> str:
    before, after = part.heights
    if after < (1 - _SAME) * before:
        return palette.better
    return palette.worse if after > (1 + _SAME) * before else palette.baseline


def _hover(part: _Part) -> str:
    before, after = part.heights
    lines = [
        f"<b>{escape(part.title)}</b>",
        f"{part.n_kernels[0]:.0f} kernels, {format_duration(before)} → "
        f"{part.n_kernels[1]:.0f}, {format_duration(after)}",
    ]
    if part.kind != "matched" and part.number is not None:
        lines.append(escape(part.kind))
    if part.source:
        lines.append(escape(part.source))
    return "<br>".join(lines)


def _short(title: str) -> str:
    return title if len(title) <= 54 else title[:53] + "…"


def _translucent(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
