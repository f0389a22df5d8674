"""Text that goes into CSV files, which people open in spreadsheets."""

from collections.abc import Iterable
from typing import Any

# OWASP, "CSV Injection"; the last four are full-width forms of the first.
_FORMULA_STARTS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"


def harmless(text: str) -> str:
    """The text, prefixed where a spreadsheet would run it as a formula: names come from uploads."""
    return f"'{text}" if text[:1] in _FORMULA_STARTS and text else text


def harmless_cells(cells: Iterable[Any]) -> list[Any]:
    """The same for each text of a row or column; what is no text stays."""
    return [harmless(cell) if isinstance(cell, str) else cell for cell in cells]
