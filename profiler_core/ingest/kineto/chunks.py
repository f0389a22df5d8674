"""The traceEvents array cut into pieces at event borders, with bounded memory.

A cut is only a candidate: a regular expression cannot know whether it stands inside a string or a
nested object. The proof is in the parse. The first piece starts at the array's first element, at
depth one and outside of any string. "[" + piece + "]" parses exactly if its end is at that depth
too, and then so does the next one's start. So when every piece parses, in order, every cut was
between two events; where one does not, `repair` takes over with its text and what follows.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from profiler_core.errors import BadInput, NotATrace
from profiler_core.ingest.empty import empty_file
from profiler_core.ingest.kineto import repair
from profiler_core.ingest.limits import Limits
from profiler_core.ingest.quoted import quoted

# Kineto's own keys and those of the Trace Event Format, of which one opens each event.
EVENT_START = rb'\{\s*"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s|cname|sf|tts|tdur)"\s*:'
_BORDER = re.compile(rb"\}\s*,\s*(?=" + EVENT_START + rb")")

# In a string a quote is escaped, so this cannot match there: `\"traceEvents\": [` has `s\"`.
_ARRAY = re.compile(rb'"traceEvents"\s*:\s*\[')
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WHITE = b" \t\r\n"

# Small first, so that all cores have work at once. Decoding holds about 15 times a piece in memory
# for each core, so 8 MiB, which cost a tenth less time, come only where the file is large anyway.
CHUNK_BYTES = (1 << 20, *(200 * (2 << 20,)), 8 << 20)
_WINDOW_BYTES = 64 << 10


class Chunks:
    """Iterate once: the texts between the array's brackets, each a whole number of events.

    The last one runs to the end of the file and so holds the closing bracket and what follows.
    """

    def __init__(
        self,
        blocks: Iterable[bytes],
        source: str,
        limits: Limits,
        chunk_bytes: tuple[int, ...] = CHUNK_BYTES,
    ) -> None:
        self._blocks = iter(blocks)
        self._source = source
        self._limits = limits
        self._sizes = chunk_bytes
        self._buffer = bytearray()
        self.metadata: dict[str, Any] = {}  # the keys before the array
        self.in_object = True  # False: the file is a bare array

    def __iter__(self) -> Iterator[tuple[bytes, bool]]:
        """Pairs (text, is it the last one).

        Raises:
            NotATrace: the file has no array of events.
            BadInput: a piece without any border is larger than the limits allow.
        """
        self._read_head()
        n_chunks = 0
        n_bytes = self._sizes[0]
        exhausted = False
        while not exhausted:
            exhausted = not self._fill(n_bytes)
            if exhausted:
                break
            cut = self._last_border()
            if cut is None:
                n_bytes = len(self._buffer) * 2
                self._check_piece()
                continue
            end, start = cut
            chunk = bytes(memoryview(self._buffer)[:end])
            self._buffer = self._buffer[start:]
            yield chunk, False
            n_chunks += 1
            n_bytes = self._sizes[min(n_chunks, len(self._sizes) - 1)]
        yield bytes(self._buffer), True

    def _fill(self, n_bytes: int) -> bool:
        """Read until the buffer holds that much; False at the end of the file."""
        while len(self._buffer) < n_bytes:
            block = next(self._blocks, None)
            if block is None:
                return False
            self._buffer += block
        return True

    def _last_border(self) -> tuple[int, int] | None:
        """(end of the last whole event, start of the one after it)."""
        window = _WINDOW_BYTES
        while True:
            start = max(0, len(self._buffer) - window)
            last = deque(_BORDER.finditer(self._buffer, start), maxlen=1)
            if last:
                return last[0].start() + 1, last[0].end()
            if start == 0:
                return None
            window *= 16

    def _check_piece(self) -> None:
        if self._buffer.isspace():
            self._buffer.clear()
        if len(self._buffer) > self._limits.max_piece_bytes:
            raise BadInput(
                f"{self._source} has more than {self._limits.max_piece_bytes >> 20} MiB "
                "without the border of an event.",
                remedy="Pass a trace that torch.profiler wrote.",
            )

    def _read_head(self) -> None:
        """Read up to the array's opening bracket."""
        searched = 0
        while True:
            has_more = self._fill(len(self._buffer) + 1)
            text = self._buffer.removeprefix(_BYTE_ORDER_MARK).lstrip(_WHITE)
            if not text and has_more:
                self._buffer.clear()
                continue
            if not text:
                raise empty_file(self._source, NotATrace)
            first = bytes(text[:1])
            if first == b"[":
                self.in_object = False
                self._buffer = text[1:]
                return
            if first != b"{":
                raise NotATrace(
                    f"{self._source} is not JSON: it starts with {quoted(bytes(text[:12]))}.",
                    remedy="Pass a Kineto trace (.json, .json.gz, .json.zst or a .zip of one).",
                )
            opening = _ARRAY.search(self._buffer, max(0, searched - 64))
            if opening:
                head = bytes(self._buffer[: opening.start()])
                self.metadata = repair.metadata(head.rstrip(_WHITE + b",") + b"}")
                self._buffer = self._buffer[opening.end() :]
                return
            searched = len(self._buffer)
            if not has_more or searched > self._limits.max_piece_bytes:
                raise NotATrace(
                    f"{self._source} is JSON but no trace: it has no traceEvents"
                    f"{_keys_of(bytes(self._buffer))}.",
                    remedy="Pass the file that torch.profiler's export_chrome_trace wrote.",
                )


def _keys_of(text: bytes) -> str:
    """What the document has instead, for the message: the reader may know it by that."""
    try:
        keys = list(msgspec.json.decode(text, type=dict[str, msgspec.Raw]))
    except (ValueError, RecursionError):
        return ""
    return f" (it has {', '.join(keys[:4])})" if keys else " (it is empty)"
