"""Text that goes into CSV files, which people open in spreadsheets."""

_FORMULA_STARTS = "=+-@\t\r"  # OWASP, "CSV Injection"


def harmless(text: str) -> str:
    """The text so that a spreadsheet takes it for text: names come from uploads."""
    return f"'{text}" if text[:1] in _FORMULA_STARTS and text else text
