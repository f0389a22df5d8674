"""What a table is made of, whoever draws it."""

from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.item import Item

Tone = Literal["", "better", "worse", "muted"]


@dataclass(frozen=True)
class Change:
    """What stands beside a value: how it differs from the baseline's."""

    text: str = ""
    tone: Tone = ""
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """One field, as text."""

    text: str
    tone: Tone = ""
    change: Change | None = None  # None: the column has none
    below: tuple[str, ...] = ()  # further lines in smaller letters
    is_code: bool = False
    is_code_below: bool = False
    note: str = ""  # what it means, for whoever points at it
    hint: str = ""  # the whole of a name that is cut
    href: str = ""  # a page that it leads to
    item: Item | None = None  # whose dossier it opens, on a page
    url: str = ""  # where there is more about it


@dataclass(frozen=True)
class Table:
    """Heads and rows; the first cell of a row names it."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    n_left_out: int = 0  # rows
    meanings: tuple[str, ...] = ()  # of the heads, for whoever points at one


def text_row(*texts: str) -> tuple[Cell, ...]:
    """Cells that are nothing but text."""
    return tuple(Cell(text) for text in texts)
