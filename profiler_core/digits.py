"""Which texts are whole numbers that `int` reads: not `²`, and not one of 4 301 digits."""

MOST_DIGITS = 18  # what 64 bits hold whatever the digits are


def is_natural(text: str) -> bool:
    """Digits alone: 0, 1, 2 and so on."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def is_whole(text: str) -> bool:
    """A natural number, or a minus before one."""
    return is_natural(text.removeprefix("-"))
