"""The fusion map as numbers of an SVG that is as wide as its place: `page/fusion_map.html`.

A page draws it as markup: a browser shows it a second before it has read and run Plotly. Shapes lie
in a box of `WIDTH` units that is stretched over the width; words lie at shares of the width, so
that they keep their size.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from profiler_core.figures.fusion_drawing import (
    HEAD_PX,
    LEFT_PX,
    RIGHT_PX,
    Drawing,
    Label,
    Ribbon,
    Stack,
    Target,
    Words,
)
from profiler_core.figures.theme import translucent

WIDTH = 1000.0
_LINE = 1.3  # height of a line of text, of its size


@dataclass(frozen=True)
class Shape:
    """Everything of one fill."""

    path: str  # of SVG
    fill: str


@dataclass(frozen=True)
class Box:
    """A rectangle, in the stretched box."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Strip:
    """What takes the pointer, and says what lies there."""

    box: Box
    hover: str  # its lines
    position: int | None  # in the panel's groups; None: nothing opens
    panel: int


@dataclass(frozen=True)
class Text:
    """One line. `x` is a share of the width in per cent, the others are pixels."""

    x: float
    dx: float
    y: float
    anchor: str
    colour: str
    size_px: float
    words: tuple[Words, ...]
    is_boxed: bool = False  # in a box hardly wider than its words
    is_head: bool = False  # above a stack


@dataclass(frozen=True)
class Svg:
    """All that the template needs."""

    n_panels: int
    width: float
    height_px: int
    head_px: int
    plot_px: int
    left_px: int
    right_px: int
    surface: str
    muted: str
    axis_title: str
    ticks: tuple[tuple[float, str], ...]  # px from the top, and words
    ribbons: tuple[Shape, ...]
    stacks: tuple[Shape, ...]
    savings: tuple[tuple[Box, str, str], ...]  # with colour of the line and fill
    strips: tuple[Strip, ...]
    texts: tuple[Text, ...]


def fusion_svg(drawing: Drawing) -> Svg:
    """The map as its template takes it."""
    palette, per_ns = drawing.palette, drawing.plot_px / drawing.lowest_ns

    def box(x: tuple[float, float], y_ns: tuple[float, float]) -> Box:
        (left, right), (top, end) = x, y_ns
        high = round((end - top) * per_ns, 2)
        return Box(
            round(left * WIDTH, 2), round(top * per_ns, 2), round((right - left) * WIDTH, 2), high
        )

    def strip(target: Target) -> Strip:
        at = box(target.x, target.y_ns)
        return Strip(at, "\n".join(target.hover), target.position, target.panel)

    return Svg(
        n_panels=1 + max((target.panel for target in drawing.targets), default=0),
        width=WIDTH,
        height_px=drawing.height_px,
        head_px=HEAD_PX,
        plot_px=drawing.plot_px,
        left_px=LEFT_PX,
        right_px=RIGHT_PX,
        surface=palette.surface,
        muted=palette.muted,
        axis_title=drawing.axis.title,
        ticks=tuple((round(HEAD_PX + ns * per_ns, 2), words) for ns, words in drawing.axis.ticks),
        ribbons=tuple(
            Shape("".join(_band(r, per_ns) for r in ribbons), translucent(colour, opacity))
            for (colour, opacity), ribbons in drawing.ribbons.items()
        ),
        stacks=tuple(
            Shape("".join(_rectangle(s, per_ns) for s in stacks), palette.category(category))
            for category, stacks in drawing.stacks.items()
        ),
        savings=tuple(
            (box(saving.x, saving.y_ns), saving.colour, translucent(saving.colour, 0.07))
            for saving in drawing.savings
        ),
        strips=tuple(map(strip, drawing.targets)),
        texts=tuple(text for label in drawing.labels for text in _texts(label, per_ns)),
    )


def _band(ribbon: Ribbon, per_ns: float) -> str:
    """A path whose upper and lower edge swing from one height to the other (3t² − 2t³)."""
    left, right = (x * WIDTH for x in ribbon.x)
    near, far = (2 * left + right) / 3, (left + 2 * right) / 3
    (top, other_top), (end, other_end) = (
        (ns[0] * per_ns, ns[1] * per_ns) for ns in (ribbon.tops_ns, ribbon.ends_ns)
    )
    return (
        f"M{left:.1f} {top:.2f}C{near:.1f} {top:.2f} {far:.1f} {other_top:.2f} "
        f"{right:.1f} {other_top:.2f}V{other_end:.2f}"
        f"C{far:.1f} {other_end:.2f} {near:.1f} {end:.2f} {left:.1f} {end:.2f}Z"
    )


def _rectangle(stack: Stack, per_ns: float) -> str:
    left, right = (x * WIDTH for x in stack.x)
    top, end = (ns * per_ns for ns in stack.y_ns)
    return f"M{left:.1f} {top:.2f}H{right:.1f}V{end:.2f}H{left:.1f}Z"


def _texts(label: Label, per_ns: float) -> Iterable[Text]:
    """The lines of a label, around its point."""
    middle = HEAD_PX + label.y_ns * per_ns - label.shift_px[1]
    high = label.size_px * _LINE
    for number, words in enumerate(label.lines):
        y = middle + (number - (len(label.lines) - 1) / 2) * high
        yield Text(
            round(label.x * 100, 3), label.shift_px[0], round(y, 1),
            label.anchor, label.colour, label.size_px, words, label.is_boxed, label.is_head,
        )  # fmt: skip
