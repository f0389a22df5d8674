"""Folder names as parts of a key: safe in a URL, and back again."""

from urllib.parse import unquote

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def encode_part(text: str) -> str:
    """A folder name inside a key; `~2B` for `+`, because `+` and `%` change in URLs."""
    return "".join(
        c if c in _SAFE else "".join(f"~{byte:02X}" for byte in c.encode("utf-8", "replace"))
        for c in text
    )


def decode_part(text: str) -> str:
    """The inverse of `encode_part`; whatever else people type comes back as something."""
    return unquote(text.replace("%", "~25").replace("~", "%"), errors="replace")


def as_listed(key: str) -> str:
    """A key that somebody typed as lists have it: "sample/a/b+c" is "sample/a/b~2Bc".

    A space stays: an address has it where a "+" was typed, and then there is no such run.
    """
    return "".join(c if c in "/~ " else encode_part(c) for c in key)
