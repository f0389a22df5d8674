"""Text that goes into CSV files, which people open in spreadsheets."""

_FORMULA_STARTS = "=+-@\t\r"  # OWASP, "CSV Injection"


def harmless(text: str) -> str:
    """The text, prefixed where a spreadsheet would run it as a formula: names come from uploads."""
    return f"'{text}" if text[:1] in _FORMULA_STARTS and text else text
