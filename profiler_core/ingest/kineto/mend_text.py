"""Narrow repairs of trace text that real writers get wrong, each with its name for the tally.

Every repair touches only what can stand in no valid JSON, so sound text is never changed by one
that is tried on it. Sources: kineto#105 #131 #136 #336 #617 #750, pytorch#60187 #98432 #136180
#146900.
"""

import re
from collections import Counter
from collections.abc import Callable

ESCAPE = "backslash in a name escaped"
CONTROL = "control character in a name"
QUOTE = "quote in a name escaped"
CONSTANT = "NaN, Infinity or N/A read as missing"
NUMBER = "malformed number read as missing"
COMMA = "trailing comma"
QUOTED = "number written as text"
NOT_UTF8 = "byte that is not UTF-8 replaced"

_LEGAL_OR_LONE_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)')
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_CONSTANT = re.compile(
    r'(?<=")(\s*:\s*)(?:N/A|[-+]?nan|[-+]?inf(?:inity)?)(?=\s*[,}\]])', re.IGNORECASE
)
_ODD_NUMBER = re.compile(r'(?<=")(\s*:\s*)([-+.]?\d[-+.\deE]*)(?=\s*[,}\]])')
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_QUOTED_NUMBER = re.compile(rb'"(?:ts|dur)"\s*:\s*"')
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")

# Kineto writes `"name": "…", "pid": …`: the key that follows tells where the name ends.
_NAME = re.compile(
    r'("name"\s*:\s*")(.*?)("\s*,\s*"(?:ph|cat|pid|tid|ts|dur|args|id|s|bp)"\s*:)', re.DOTALL
)
_LABEL = re.compile(r'("(?:name|labels)"\s*:\s*")(.*)("\s*\}\s*\}?\s*)$', re.DOTALL)
_BARE_QUOTE = re.compile(r'(?<!\\)((?:\\\\)*)"')


def to_text(data: bytes) -> tuple[str, int]:
    """The text of `data`, and how many of its bytes were not UTF-8."""
    try:
        return data.decode(), 0
    except UnicodeDecodeError:
        text = data.decode(errors="replace")
        return text, text.count("\ufffd") - data.count("\ufffd".encode())


def count_quoted_numbers(piece: bytes) -> int:
    """How many starts and durations are quoted, where the piece's first events have some.

    They are read either way, so a lone one further down is not worth a look at every byte.
    """
    if not _QUOTED_NUMBER.search(piece, 0, 4096):
        return 0
    return sum(1 for _ in _QUOTED_NUMBER.finditer(piece))


def mend_piece(data: bytes) -> tuple[bytes, Counter[str]]:
    """A piece of many events with the repairs that need no look at single events."""
    text, n_bytes = to_text(data)
    repairs: Counter[str] = Counter({NOT_UTF8: n_bytes} if n_bytes else {})
    for name, repair in ((ESCAPE, _escapes), (CONTROL, _controls), (CONSTANT, _constants)):
        text, n_places = repair(text)
        if n_places:
            repairs[name] += n_places
    return text.encode(), repairs


def _escapes(text: str) -> tuple[str, int]:
    n_places = 0

    def double(match: re.Match[str]) -> str:
        nonlocal n_places
        if match[1]:
            return match[0]
        n_places += 1
        return r"\\"

    return _LEGAL_OR_LONE_ESCAPE.sub(double, text) if "\\" in text else text, n_places


def _controls(text: str) -> tuple[str, int]:
    return _CONTROL.subn(" ", text)


def _constants(text: str) -> tuple[str, int]:
    return _CONSTANT.subn(r"\1null", text)


def _numbers(text: str) -> tuple[str, int]:
    n_places = 0

    def missing(match: re.Match[str]) -> str:
        nonlocal n_places
        if _JSON_NUMBER.fullmatch(match[2]):
            return match[0]
        n_places += 1
        return f"{match[1]}null"

    return _ODD_NUMBER.sub(missing, text), n_places


def _commas(text: str) -> tuple[str, int]:
    return _TRAILING_COMMA.subn(r"\1", text)


def _quotes(text: str) -> tuple[str, int]:
    n_places = 0

    def escape(match: re.Match[str]) -> str:
        nonlocal n_places
        inner, n = _BARE_QUOTE.subn(r'\1\\"', match[2])
        n_places += n
        return f"{match[1]}{inner}{match[3]}"

    mended = _NAME.sub(escape, text, count=1)
    return (mended, n_places) if n_places else (_LABEL.sub(escape, text, count=1), n_places)


# For one event that does not parse, in this order; each is kept for the next. A comma before the
# brace of an event is not counted: the fast reader takes it for what it is, without a word.
EVENT_REPAIRS: tuple[tuple[str | None, Callable[[str], tuple[str, int]]], ...] = (
    (ESCAPE, _escapes),
    (CONSTANT, _constants),
    (NUMBER, _numbers),
    (None, _commas),
    (QUOTE, _quotes),
)
