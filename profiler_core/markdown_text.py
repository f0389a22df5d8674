"""Foreign text in GitHub-flavoured Markdown: no name links, notifies or refers to anything."""

import re
from html import escape, unescape

LONGEST = 400  # characters of one sentence
# Where a word begins for GitHub: an underscore, which marks emphasis, is no part of it.
_REFERENCE = r"(?<=gh)(?<![^\W_]gh)-(?=\d)"
_ACTIVE = re.compile(rf"[\\`*_{{}}\[\]|~@#]|:(?=//|[\w+-]+:)|{_REFERENCE}", re.IGNORECASE)
# GitHub looks for mentions in what it has rendered, where an entity is the character again.
_BROKEN = {
    "@": "&#64;&#8203;", "#": "&#35;&#8203;", "-": "-&#8203;", ":": "&#58;", "|": "&#124;",
}  # fmt: skip

_KEPT = "\n\t\u00a0\u200b\u200d\u202f"  # of lines, of numbers and units, of words, of emoji
# What a fence asks to be drawn; it may stand in a list.
_FENCE = re.compile(r"^([ \t>*+\-\d.)]*(?:`{3,}|~{3,})).*$", re.MULTILINE)
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|\w+);")
_ESCAPED = re.compile(r"\\([@#:\]]|-(?=\d))")
_OF_DOCUMENT = re.compile(
    rf"{_ENTITY.pattern}|</?sub>|<|@|#(?=\d)|{_REFERENCE}|\](?=[(\[:])|:(?=//)|"
    r"(?<=www)(?<![^\W_]www)\.",
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
    return _OF_DOCUMENT.sub(_as_text, shown)


def _as_text(match: re.Match[str]) -> str:
    """What is active as its text; an entity that was none before others were read is text, too."""
    written = match[0]
    if _ENTITY.fullmatch(written) and _character(match) != written:
        return f"&amp;{written[1:]}"
    return _AS_TEXT.get(written, written)


def _character(entity: re.Match[str]) -> str:
    """What would be active behind an entity or a backslash, too: GitHub reads what it rendered."""
    character = unescape(entity[0])
    return character if character.isalnum() or character in "@#:]-." else entity[0]


def _harmless(match: re.Match[str]) -> str:
    """For what would be active even behind a backslash an entity and a space without width."""
    character = match.group()
    return _BROKEN.get(character, f"\\{character}")
