"""Foreign text in GitHub-flavoured Markdown: no name links, notifies or refers to anything."""

import re
from html import escape

LONGEST = 400  # characters of one sentence
_ACTIVE = re.compile(r"[\\`*_{}\[\]|~@#]|:(?=//|[\w+-]+:)|(?<=\bgh)-(?=\d)", re.IGNORECASE)
# GitHub looks for mentions in what it has rendered, where an entity is the character again.
_BROKEN = {
    "@": "&#64;&#8203;", "#": "&#35;&#8203;", "-": "-&#8203;", ":": "&#58;", "|": "&#124;",
}  # fmt: skip


def plain(text: str, longest: int = LONGEST) -> str:
    """Text on one line that Markdown shows as it is."""
    flat = " ".join(text.split())
    if len(flat) > longest:
        flat = flat[: longest - 1] + "…"
    return _ACTIVE.sub(_harmless, escape(flat, quote=False)).replace("www.", "www&#46;")


def _harmless(match: re.Match[str]) -> str:
    """For what would be active even behind a backslash an entity and a space without width."""
    character = match.group()
    return _BROKEN.get(character, f"\\{character}")
