"""The fusion map as plain shapes and words, before anything draws them.

x is a share of the width from the left, y is ns per step from the top. `fusion_map.py` makes a
Plotly figure of it, for reports, and `fusion_svg.py` an SVG, for pages.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from profiler_core.figures.theme import Palette

HEAD_PX, FOOT_PX, LEFT_PX, RIGHT_PX = 50, 8, 56, 8  # around the plot

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Words:
    """A run of words of one look; None: as the label's."""

    text: str
    is_bold: bool = False
    colour: str | None = None
    size_px: float | None = None
    is_spare: bool = False  # left out where the picture is narrow
    is_instead: bool = False  # shown only there


Line = tuple[Words, ...]


@dataclass(frozen=True)
class Label:
    """Lines of text around a point."""

    x: float
    y_ns: float
    lines: tuple[Line, ...]
    colour: str
    size_px: float
    anchor: Anchor = "middle"
    shift_px: tuple[float, float] = (0, 0)  # right and up
    is_boxed: bool = False  # in a box hardly wider than its words
    is_head: bool = False  # above a stack


@dataclass(frozen=True)
class Stack:
    """A rectangle of one category of kernels."""

    x: tuple[float, float]
    y_ns: tuple[float, float]


@dataclass(frozen=True)
class Ribbon:
    """From the part of the left stack (top and end, ns) to that of the right one."""

    x: tuple[float, float]
    tops_ns: tuple[float, float]
    ends_ns: tuple[float, float]


@dataclass(frozen=True)
class Target:
    """What takes the pointer: a strip over a whole panel.

    `position` is that in the panel's groups, None for several small ones; `hover` says what lies
    there, line by line, its title first.
    """

    x: tuple[float, float]
    y_ns: tuple[float, float]
    hover: tuple[str, ...]
    position: int | None
    panel: int


@dataclass(frozen=True)
class Saving:
    """The difference of the two stacks of a panel: a dotted box."""

    x: tuple[float, float]
    y_ns: tuple[float, float]
    colour: str


@dataclass(frozen=True)
class Axis:
    """Time from the top down."""

    title: str
    ticks: Sequence[tuple[float, str]]  # ns and words


@dataclass
class Drawing:
    """All of a map. Shapes of one colour are drawn as one."""

    height_px: int
    tall_ns: float  # of the higher stack
    palette: Palette
    axis: Axis
    ribbons: dict[tuple[str, float], list[Ribbon]] = field(default_factory=dict)  # colour, opacity
    stacks: dict[str, list[Stack]] = field(default_factory=dict)  # by category
    savings: list[Saving] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    @property
    def plot_px(self) -> int:
        """Height of what lies between head and foot."""
        return max(1, self.height_px - HEAD_PX - FOOT_PX)

    @property
    def lowest_ns(self) -> float:
        """What the lower edge stands for."""
        return self.tall_ns * 1.005

    def panels(self) -> Iterable[tuple[int, list[Target]]]:
        """The targets of each panel, from the left."""
        by_panel: dict[int, list[Target]] = {}
        for target in self.targets:
            by_panel.setdefault(target.panel, []).append(target)
        return sorted(by_panel.items())
