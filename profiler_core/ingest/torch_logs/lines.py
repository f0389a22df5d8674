"""A log file of any make -> batches of clean lines, in bounded memory.

Handles gzip, UTF-8 and UTF-16 (PowerShell's `2>`), CRLF, progress bars (what follows the last
carriage return counts), terminal colours, and lines without end.
"""

import codecs
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.ingest.limits import configured
from profiler_core.ingest.stream import Stream
from profiler_core.ingest.windows_paths import with_slashes
from profiler_core.terminal_text import SEQUENCE

CHUNK_BYTES = 1 << 20
# The longest record line met in practice is 40 kB (a scheduler node with its stack traces).
MAX_LINE_CHARS = 1 << 16
# No log has these; \t \n \r, backspace, form feed and escape are left out.
CONTROL = bytes(set(range(32)) - {8, 9, 10, 12, 13, 27})


def chunks(path: Path, repairs: Counter[str], size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Read `path` piece by piece, unpacking it by its content.

    Packed data that is broken or cut off ends the log there, and is counted; no piece is larger
    than `size`, whatever the file unpacks to.

    Raises:
        BadInput: the file cannot be read, or exceeds a limit.
    """
    stream = Stream(path, configured(), block_bytes=size, noun="lines")
    try:
        for block in stream:
            stream.meter.count(block.count(b"\n"))
            yield block
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror or error}.",
            remedy="Pass a file that exists and that you may read.",
        ) from error
    if stream.damage:
        repairs["packed data ends early"] += 1


def lines(path: Path, repairs: Counter[str], size: int = CHUNK_BYTES) -> Iterator[list[str]]:
    """Yield batches of lines without their line ends.

    Args:
        path: the log.
        repairs: counts what was mended, by reason.
        size: bytes read at a time; tests make it small.

    Raises:
        BadInput: the file cannot be read, or is no text.
    """
    decoder: codecs.IncrementalDecoder | None = None
    rest, cutting = "", False
    for chunk in chunks(path, repairs, size):
        if decoder is None:
            decoder = codecs.getincrementaldecoder(_encoding(path, chunk))(errors="replace")
        text = decoder.decode(chunk)
        if cutting:
            _, newline, text = text.partition("\n")
            if not newline:
                continue
            cutting, text = False, "\n" + text
        batch = (rest + text).split("\n")
        rest = batch.pop()
        if len(rest) > 2 * MAX_LINE_CHARS and len(rest) >= size:
            rest, cutting = rest[:MAX_LINE_CHARS], True
            repairs["line cut at 64 kB"] += 1
        if batch:
            yield _clean(batch, repairs)
    if rest:
        if not cutting:
            repairs["the log ends inside a line"] += 1
        yield _clean([rest], repairs)


def _encoding(path: Path, head: bytes) -> str:
    """Guess from the first bytes; many control bytes mean that it is no text."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    sample = head[:4096]
    n_nul = sample.count(0)
    if n_nul and n_nul >= len(sample) // 3 and sample[1::2].count(0) > 0.9 * len(sample[1::2]):
        return "utf-16-le"
    n_control = len(sample) - len(sample.translate(None, CONTROL))
    if n_control > len(sample) // 50:
        raise BadInput(
            f"{path.name} is binary, no log text.",
            remedy="Pass the stderr of a run with TORCH_LOGS, or a TORCH_TRACE log.",
        )
    return "utf-8"


def _clean(batch: list[str], repairs: Counter[str]) -> list[str]:
    """Strip what terminals add; the common line has none of it, so whole batches pass untouched."""
    text = "\n".join(batch)
    if ":\\" in text:
        text = with_slashes(text)
        batch = text.split("\n")
    longest = max(map(len, batch))
    if "\r" not in text and "\x1b" not in text and longest <= MAX_LINE_CHARS:
        return batch
    if longest > MAX_LINE_CHARS:
        repairs["line cut at 64 kB"] += sum(len(line) > MAX_LINE_CHARS for line in batch)
    return [_clean_line(line[:MAX_LINE_CHARS]) for line in batch]


def _clean_line(line: str) -> str:
    if "\r" in line:
        line = line.removesuffix("\r").rsplit("\r", 1)[-1]
    return SEQUENCE.sub("", line) if "\x1b" in line else line
