"""Text that came from elsewhere, as a terminal may show it: it must not be steered by it."""

import contextlib
import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

# ECMA-48: CSI; OSC up to BEL or ST; DCS, SOS, PM and APC up to ST; designations; two characters.
SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[PX^_][^\x1b\n]*\x1b\\"
    r"|[ -/]+[0-~]|[0-~])"
)
# C0 but \t and \n, DEL, C1; what turns the direction of text; bytes that are no UTF-8.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_ERASE_LINE = "\r\x1b[K"


def printable(text: str) -> str:
    r"""The text without escape sequences; other characters that steer a terminal as \u009b.

    Tabs and line ends stay (\r\n as \n). Inside a JSON document the result has the same meaning.
    """
    if not _UNPRINTABLE.search(text):
        return text
    return _UNPRINTABLE.sub(_escaped, SEQUENCE.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    r"""The same in one line, with its line ends as \n: nobody's name begins a line of ours."""
    return printable(text).replace("\n", "\\n")


def one_record(text: str) -> str:
    """The same, with each line but the first indented: who reads sees where the next one begins."""
    return printable(text).replace("\n", "\n  ")


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


class _PrintableStream:
    """A stream to which only printable text is written; in all else the stream that it wraps."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Like the stream's own; returns how many of the given characters are dealt with."""
        self.stream.write(printable(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextlib.contextmanager
def only_printable() -> Iterator[None]:
    """In the block, whatever Python code prints to stdout and stderr is made printable."""
    stdout, stderr = (cast(TextIO, _PrintableStream(s)) for s in (sys.stdout, sys.stderr))
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        yield


def rewrite_line(stream: TextIO, text: str) -> None:
    """Write `text` in place of the last line of a terminal; the one place that sends it codes."""
    terminal = stream.stream if isinstance(stream, _PrintableStream) else stream
    terminal.write(_ERASE_LINE + printable(text))
