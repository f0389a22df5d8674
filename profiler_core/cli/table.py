"""Aligned columns for the terminal."""

from collections.abc import Sequence

_GAP = "  "


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, n_text: int = 1) -> str:
    """Lines of columns; the first `n_text` columns are text, the others numbers to the right."""
    cells = [list(head), *(list(row) for row in rows)]
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


def shorten(text: str, width: int) -> str:
    """Cut long kernel names in the middle: both ends tell them apart."""
    if len(text) <= width:
        return text
    tail = width // 3
    return f"{text[: width - tail - 1]}…{text[-tail:]}"
