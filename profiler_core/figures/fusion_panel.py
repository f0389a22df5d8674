"""One candidate's panel of the fusion map: two stacks, the ribbons between them, their names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.ledger.result import Kind, changed
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.figures.fusion_drawing import Drawing, Label, Ribbon, Stack, Target, Words
from profiler_core.figures.fusion_parts import Part
from profiler_core.figures.theme import Palette
from profiler_core.units import format_count, format_duration

RIBBON = 0.26  # opacity of a ribbon while no group is open
_FAINT, _STRONG = 0.1, 0.5  # while one is: of the others, and its own
_STACK = 0.17  # width of either stack, of a panel's
_GAP = 0.035  # between panels, of the whole
_LABEL_PX = 17  # a ribbon as high as this has room for its name
_WIDTH_CHARACTERS = 120  # of 12 px letters in the whole picture, at 1280 px
_NARROW_ROOM = 28  # characters of a name where the picture stands beside a dossier
_NARROW = 0.7  # of the characters that there is room for elsewhere, in smaller letters
_APART = 2  # characters between two names in a line
_LEAST_ROOM = 12  # characters; a shorter part of a name is not shown
_ALONE: dict[Kind, str] = {
    "removed": "no longer computed",
    "only in the candidate": "only here",
    "unmatched": "no counterpart found",
}


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
    drawing: Drawing, parts: Sequence[Part], frame: Frame, index: int, panel: Panel
) -> None:
    """Add stacks, ribbons, names and what takes the pointer.

    Args:
        drawing: of all panels.
        parts: from the top down.
        frame: where the panel lies.
        index: which panel it is, from 0 at the left.
        panel: its groups.
    """
    palette = drawing.palette
    at = [0.0, 0.0]
    named_until = -frame.per_px * _LABEL_PX
    names: list[Label] = []
    names_alone: list[tuple[Label, tuple[float, float]]] = []  # with what they may lie in
    for part in parts:
        tops = (at[0], at[1])
        for side, x in ((0, frame.left), (1, frame.right)):
            gap = frame.per_px * 0.5 if part.heights[side] > 3 * frame.per_px else 0.0
            y = at[side]
            for category, ns in part.sides[side].items():
                drawing.stacks.setdefault(category, []).append(Stack(x, (y, y + ns - gap)))
                y += ns
            at[side] = y
        before, after = part.heights
        if before and after:
            opacity = RIBBON
            if panel.selected is not None:
                opacity = _STRONG if part.number == panel.selected else _FAINT
            key = (_ribbon_colour(part, palette), opacity)
            ribbon = Ribbon(frame.ribbon, tops, (at[0], at[1]))
            drawing.ribbons.setdefault(key, []).append(ribbon)
        high = max((at[0] - tops[0] + at[1] - tops[1]) / 2, frame.per_px)
        middle = (tops[0] + at[0] + tops[1] + at[1]) / 4
        strip = (middle - high / 2, middle + high / 2)
        across = (frame.left[0], frame.right[1])
        drawing.targets.append(Target(across, strip, _hover(part), part.number, index))
        if high <= frame.per_px * _LABEL_PX:
            continue
        if before and after:
            if middle - named_until > frame.per_px * _LABEL_PX:
                names.append(_name(part, palette, frame, middle))
                named_until = middle
        elif max(before, after) > frame.per_px * _LABEL_PX:
            side = 0 if before else 1
            names_alone.append((_name_alone(part, palette, frame, side), (tops[side], at[side])))
    drawing.labels += names
    drawing.labels += _beside(names_alone, names, frame)


def _name(part: Part, palette: Palette, frame: Frame, y: float) -> Label:
    """Title and times of a part on its ribbon, as far as there is room."""
    times = _times(*part.heights)
    room = frame.characters - len(times) - 3
    words = [Words(times, is_bold=True)]
    if room >= min(_LEAST_ROOM, len(part.names[-1])):
        title = part.name_within(room)
        narrow = min(_NARROW_ROOM, int(_NARROW * frame.characters) - len(times) - 3)
        is_short = len(title) <= narrow
        words.insert(0, Words(f"{title}   ", is_spare=not is_short))
        if not is_short and narrow >= _LEAST_ROOM:
            words.insert(1, Words(f"{part.name_within(narrow)}   ", is_instead=True))
        if part.source and len(title) + len(part.source) + 3 <= room:
            words.append(Words(f"   {part.source}", colour=palette.muted, is_spare=True))
    return Label(sum(frame.ribbon) / 2, y, (tuple(words),), palette.ink, 12)


def _beside(
    alone: Sequence[tuple[Label, tuple[float, float]]], names: Sequence[Label], frame: Frame
) -> Iterator[Label]:
    """Each in the middle of its extent, ns, or next to it where a ribbon's name ends there.

    One without room is left out: the pointer says it.
    """
    high = frame.per_px * _LABEL_PX
    for label, (top, end) in alone:
        near = [name.y_ns for name in names if _would_meet(name, label, frame)]
        middle = (top + end) / 2
        free = [
            y
            for y in (middle, *(y + shift for y in near for shift in (-high, high)))
            if top + high / 2 <= y <= end - high / 2
            and all(abs(y - other) >= 0.99 * high for other in near)
        ]
        if free:
            yield replace(label, y_ns=min(free, key=lambda y: abs(y - middle)))


def _would_meet(name: Label, alone: Label, frame: Frame) -> bool:
    """Would a name in the middle of the ribbons and one at their end meet in one line?"""
    (words,), (why,) = name.lines, alone.lines
    n_alone = sum(len(word.text) for word in why)
    wide = sum(len(word.text) for word in words if not word.is_instead)
    narrow = sum(len(word.text) for word in words if not word.is_spare)
    return any(
        n / 2 + n_alone + _APART > room / 2
        for n, room in ((wide, frame.characters), (narrow, _NARROW * frame.characters))
    )


def _name_alone(part: Part, palette: Palette, frame: Frame, side: int) -> Label:
    """The title of a part without a counterpart beside its stack, which `_beside` places."""
    why = _ALONE.get(part.kind, "")
    room = frame.characters // 2 - len(why) - 2
    title = f"{part.name_within(room)}, " if room >= _LEAST_ROOM else ""
    return Label(
        frame.ribbon[side], 0.0, ((Words(f"{title}{why}"),),), palette.muted, 12,
        anchor="end" if side else "start", shift_px=((6, -6)[side], 0),
    )  # fmt: skip


def _times(before: float, after: float) -> str:
    """`495 → 228 µs`: the unit once where both share it."""
    before_text, after_text = format_duration(before), format_duration(after)
    number, unit = before_text.split(" ")
    return (
        f"{number} → {after_text}"
        if after_text.endswith(f" {unit}")
        else f"{before_text} → {after_text}"
    )


def _ribbon_colour(part: Part, palette: Palette) -> str:
    colours = {"faster": palette.better, "slower": palette.worse}
    return colours.get(changed(*part.heights), palette.baseline)


def _hover(part: Part) -> tuple[str, ...]:
    before, after = part.heights
    lines = [
        clipped(part.title, 90),
        f"{format_count(part.n_kernels[0])} kernel{'' if part.n_kernels[0] == 1 else 's'}, "
        f"{format_duration(before)} → "
        f"{format_count(part.n_kernels[1])}, {format_duration(after)}",
    ]
    if part.number is not None and part.kind in _ALONE:
        lines.append(_ALONE[part.kind])
    return (*lines, *(text for text in (part.module, part.source) if text))
