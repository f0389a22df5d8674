"""Which labels of a plot would lie over each other, by about how large they are drawn."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

# What the lines of a trend are drawn in at 1 280 px, and a character of a label.
_PLOT_PX, _PLOT_HEIGHT_PX = 760, 170
_CHARACTER_PX, _LINE_PX = 7, 15


@dataclass(frozen=True)
class Box:
    """What a label or a mark covers, in px from the lower left corner of the plot."""

    left: float
    right: float
    bottom: float
    top: float

    def overlaps(self, other: "Box", apart_px: float = 0) -> bool:
        """Whether a part of it lies over the other, or nearer than so many px."""
        return (
            self.left < other.right + apart_px
            and other.left < self.right + apart_px
            and self.bottom < other.top + apart_px
            and other.bottom < self.top + apart_px
        )


def label_box(lines: Sequence[str], along_x: float, along_y: float) -> Box:
    """Of the lines of a label; where its middle is, as shares of the plot."""
    x, y = along_x * _PLOT_PX, along_y * _PLOT_HEIGHT_PX
    half_width = max(map(len, lines)) * _CHARACTER_PX / 2
    half_height = len(lines) * _LINE_PX / 2
    return Box(x - half_width, x + half_width, y - half_height, y + half_height)


def along(position: datetime | int, positions: Collection[datetime | int]) -> float:
    """How far to the right a position is, from 0 to 1; 0 where all are one."""
    places = [_number(each) for each in positions]
    span = max(places) - min(places)
    return (_number(position) - min(places)) / span if span else 0.0


def _number(position: datetime | int) -> float:
    return position.timestamp() if isinstance(position, datetime) else float(position)
