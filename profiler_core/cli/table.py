"""Aligned columns for the terminal, as wide as it is."""

import shutil
import sys
from collections.abc import Sequence

from profiler_core.analysis.wording.sentence import clipped as cut_in_the_middle
from profiler_core.terminal_text import one_line

_GAP = "  "
_END = "…"
_is_whole = False
_NARROWEST = 12  # a name cut shorter than this tells nothing


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, n_text: int = 1) -> str:
    """Lines of columns; the first `n_text` columns are text, the others numbers to the right.

    On a terminal too narrow for them, text columns are cut, the widest first, and numbers never.
    What goes into a file or a pipe is not cut, and nothing is with `--wide`.
    """
    cells = [[one_line(cell) for cell in row] for row in (head, *rows)]
    if is_cut():
        cells = _fitted(cells, n_text, shutil.get_terminal_size().columns)
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = []
    for row in cells:
        padded = [
            cell.ljust(width) if column < n_text else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(_GAP.join(padded).rstrip())
    lines.insert(1, _GAP.join("─" * width for width in widths))
    return "\n".join(lines)


def _fitted(cells: list[list[str]], n_text: int, width: int) -> list[list[str]]:
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    while sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        widest = max(range(n_text), key=lambda column: widths[column], default=0)
        if not n_text or widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    return [
        [shorten(c, widths[n]) if n < n_text else c for n, c in enumerate(row)] for row in cells
    ]


def shorten(text: str, width: int) -> str:
    """Cut long kernel names in the middle: both ends tell them apart. Only where `is_cut`."""
    return cut_in_the_middle(text, width) if is_cut() else text


def clipped(text: str, width: int) -> str:
    """The beginning of a sentence, with a mark where the rest was cut. Only where `is_cut`."""
    return text if len(text) <= width or not is_cut() else f"{text[: width - 1].rstrip()}{_END}"


def n_more(n_left_out: int) -> str:
    """A line for what a list leaves out; "" for nothing."""
    return f"{_END} and {n_left_out} more (--json has them)" if n_left_out > 0 else ""


def show_whole(whole: bool) -> None:
    """Cut nothing from now on, or again what does not fit the terminal."""
    global _is_whole  # noqa: PLW0603 - one for the process, as the terminal is
    _is_whole = whole


def is_cut() -> bool:
    """Is text cut to its column: on a terminal, unless `--wide` asked for all of it?"""
    return sys.stdout.isatty() and not _is_whole
