"""Aligned columns for the terminal, as wide as it is."""

import shutil
import sys
from collections.abc import Sequence

_GAP = "  "
_NARROWEST = 12  # a name cut shorter than this tells nothing


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, n_text: int = 1) -> str:
    """Lines of columns; the first `n_text` columns are text, the others numbers to the right.

    On a terminal too narrow for them, text columns are cut, the widest first, and numbers never.
    What goes into a file or a pipe is not cut.
    """
    cells = [list(head), *(list(row) for row in rows)]
    if sys.stdout.isatty():
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
    """Cut long kernel names in the middle: both ends tell them apart."""
    if len(text) <= width:
        return text
    tail = width // 3
    return f"{text[: width - tail - 1]}…{text[-tail:]}"
