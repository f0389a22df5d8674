"""Foreign text in GitHub-flavoured Markdown: no name links, notifies or refers to anything."""

import re
from html import escape, unescape

LONGEST = 400  # characters of one sentence
_ACTIVE = re.compile(r"[\\`*_{}\[\]|~@#]|:(?=//|[\w+-]+:)|(?<=\bgh)-(?=\d)", re.IGNORECASE)
# GitHub looks for mentions in what it has rendered, where an entity is the character again.
_BROKEN = {
    "@": "&#64;&#8203;", "#": "&#35;&#8203;", "-": "-&#8203;", ":": "&#58;", "|": "&#124;",
}  # fmt: skip

_KEPT = "\n\t\u00a0\u200b\u200d\u202f"  # of lines, of numbers and units, of words, of emoji
_FENCE = re.compile(r"^([ \t>]*(?:`{3,}|~{3,})).*$", re.MULTILINE)  # what it asks to be drawn
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|\w+);")
_ESCAPED = re.compile(r"\\([@#:\]]|-(?=\d))")
_OF_DOCUMENT = re.compile(
    _ENTITY.pattern + r"|</?sub>|<|@|#(?=\d)|(?<=\bgh)-(?=\d)|\](?=[(\[:])|:(?=//)|(?<=\bwww)\.",
    re.IGNORECASE,
)
_AS_TEXT = {
    "<": "&lt;", "@": _BROKEN["@"], "#": _BROKEN["#"], "-": _BROKEN["-"], ":": _BROKEN[":"],
    "]": "]&#8203;", ".": "&#46;",
}  # fmt: skip


def plain(text: str, longest: int = LONGEST) -> str:
    """Text on one line that Markdown shows as it is."""
    flat = " ".join(text.split())
    if len(flat) > longest:
        flat = flat[: longest - 1] + "…"
    return _ACTIVE.sub(_harmless, escape(flat, quote=False)).replace("www.", "www&#46;")


def document(text: str) -> str:
    """A whole document of somebody else, of which headings, lists, tables and emphasis are left.

    Links, images, HTML, mentions, references and what a fence may ask to be drawn are text.
    """
    shown = "".join(each for each in text if each.isprintable() or each in _KEPT)
    shown = _ENTITY.sub(_character, _FENCE.sub(r"\1", shown))
    shown = _ESCAPED.sub(r"\1", shown)
    return _OF_DOCUMENT.sub(lambda match: _AS_TEXT.get(match[0], match[0]), shown)


def _character(entity: re.Match[str]) -> str:
    """What would be active behind an entity or a backslash, too: GitHub reads what it rendered."""
    character = unescape(entity[0])
    return character if character.isalnum() or character in "@#:]-." else entity[0]


def _harmless(match: re.Match[str]) -> str:
    """For what would be active even behind a backslash an entity and a space without width."""
    character = match.group()
    return _BROKEN.get(character, f"\\{character}")
