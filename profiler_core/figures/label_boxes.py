"""Which labels of a trend would lie over each other, by about how large they are drawn."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

# What the lines of a trend are drawn in at 1 280 px, and a character of a label.
_PLOT_PX, _PLOT_HEIGHT_PX = 760, 170
_CHARACTER_PX, _LINE_PX = 7, 15


@dataclass(frozen=True)
class Box:
    """What a label covers, in px of the plot; x and y are its middle."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: "Box") -> bool:
        """Whether a part of it lies over the other."""
        return (
            abs(self.x - other.x) < (self.width + other.width) / 2
            and abs(self.y - other.y) < (self.height + other.height) / 2
        )


def label_box(lines: Sequence[str], along_x: float, along_y: float) -> Box:
    """Of the lines of a label; where its middle is, as shares of the plot."""
    return Box(
        along_x * _PLOT_PX,
        along_y * _PLOT_HEIGHT_PX,
        max(map(len, lines)) * _CHARACTER_PX,
        len(lines) * _LINE_PX,
    )


def along(position: datetime | int, positions: Collection[datetime | int]) -> float:
    """How far to the right a position is, from 0 to 1; 0 where all are one."""
    places = [_number(each) for each in positions]
    span = max(places) - min(places)
    return (_number(position) - min(places)) / span if span else 0.0


def _number(position: datetime | int) -> float:
    return position.timestamp() if isinstance(position, datetime) else float(position)
