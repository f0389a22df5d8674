"""One candidate's panel of the fusion map: two stacks, the ribbons between them, their names."""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.ledger.result import Kind
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.figures.fusion_parts import Part
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import Figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_count, format_duration

RIBBON = 0.26  # opacity of a ribbon while no group is open
_FAINT, _STRONG = 0.1, 0.5  # while one is: of the others, and its own
_STACK = 0.17  # width of either stack, of a panel's
_GAP = 0.035  # between panels, of the whole
_LABEL_PX = 17  # a ribbon as high as this has room for its name
_WIDTH_CHARACTERS = 120  # of 12 px letters in the whole picture, at 1280 px
_LEAST_ROOM = 12  # characters; a shorter part of a name is not shown
_SAME = 0.05  # changes within this are "alike"
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
    selected: int | None = None  # index of the open group in `groups`


@dataclass(frozen=True)
class Frame:
    """The horizontal extent of a panel, and the ns of one pixel."""

    left: tuple[float, float]
    right: tuple[float, float]
    per_px: float
    characters: int  # that the ribbons have room for

    @property
    def ribbon(self) -> tuple[float, float]:
        """Start and end of the ribbons on the x axis."""
        return self.left[1] + 0.003, self.right[0] - 0.003


def frame_of(index: int, n_panels: int, per_px: float) -> Frame:
    """Panels stand beside each other, equally wide; `per_px` is what a pixel is worth, ns."""
    width = (1 - _GAP * (n_panels - 1)) / n_panels
    x = index * (width + _GAP)
    stack = width * _STACK
    characters = int(_WIDTH_CHARACTERS * (width - 2 * stack))
    return Frame((x, x + stack), (x + width - stack, x + width), per_px, characters)


def draw_panel(
    figure: Figure,
    parts: Sequence[Part],
    palette: Palette,
    frame: Frame,
    into: tuple[dict[str, Outline], dict[tuple[str, float], Outline]],
    index: int,
    panel: Panel,
) -> None:
    """Add names and click targets to the figure, and outlines to those that all panels share.

    Args:
        figure: gets a trace named "groups" (see `fusion_maps`).
        parts: from the top down.
        palette: of the mode.
        frame: where it lies.
        into: outlines of the stacks by category, and of the ribbons by colour and opacity.
        index: which panel it is, from 0 at the left.
        panel: its groups.
    """
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
            opacity = RIBBON
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
        customdata=[[t[3], index] for t in targets],
        hovertext=[t[2] for t in targets], hoverinfo="text",
        selected={"marker": {"opacity": 0}}, unselected={"marker": {"opacity": 0}},
    )  # fmt: skip


def _name(figure: Figure, part: Part, palette: Palette, frame: Frame, y: float) -> None:
    """Write title and times of a part on its ribbon, as far as there is room."""
    times = _times(*part.heights)
    room = frame.characters - len(times) - 3
    text = f"<b>{times}</b>"
    if room >= min(_LEAST_ROOM, len(part.title)):
        title = _begun(part.title, room)
        text = f"{plotly_text(title)}   {text}"
        if part.source and len(title) + len(part.source) + 3 <= room:
            text += f'   <span style="color:{palette.muted}">{plotly_text(part.source)}</span>'
    figure.add_annotation(
        x=sum(frame.ribbon) / 2, y=y, showarrow=False, text=text,
        font={"size": 12, "color": palette.ink},
    )  # fmt: skip


def _name_alone(
    figure: Figure, part: Part, palette: Palette, frame: Frame, sums: tuple[float, float]
) -> None:
    """Write the title of a part without a counterpart beside its stack."""
    side = 0 if part.heights[0] else 1
    why = _ALONE.get(part.kind, "")
    room = frame.characters // 2 - len(why) - 2
    title = plotly_text(_begun(part.title, room)) + ", " if room >= _LEAST_ROOM else ""
    figure.add_annotation(
        x=frame.ribbon[side], y=sums[side] / 2, showarrow=False,
        xanchor=("left", "right")[side], xshift=(6, -6)[side], text=f"{title}{why}",
        font={"size": 12, "color": palette.muted},
    )  # fmt: skip


def _begun(title: str, longest: int) -> str:
    """The title cut to `longest` characters at its end."""
    return title if len(title) <= longest else f"{title[: longest - 1]}…"


def _times(before: float, after: float) -> str:
    """`495 → 228 µs`: the unit once where both share it."""
    before_text, after_text = format_duration(before), format_duration(after)
    number, unit = before_text.split(" ")
    return (
        f"{number} → {after_text}"
        if after_text.endswith(f" {unit}")
        else f"{before_text} → {after_text}"
    )


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
        f"{format_count(part.n_kernels[0])} kernels, {format_duration(before)} → "
        f"{format_count(part.n_kernels[1])}, {format_duration(after)}",
    ]
    if part.number is not None and part.kind in _ALONE:
        lines.append(_ALONE[part.kind])
    lines += [plotly_text(text) for text in (part.module, part.source) if text]
    return "<br>".join(lines)
