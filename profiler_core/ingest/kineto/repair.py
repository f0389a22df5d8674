"""Repairs trace text that is not valid JSON, event by event, and counts every repair.

Reads each event on its own, mends what has a narrow repair, skips what has none, and finds the
end of the array without trusting a bracket: names may hold any character.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
import polars as pl

from profiler_core.errors import BadInput
from profiler_core.ingest.kineto import mend_text
from profiler_core.ingest.kineto.wide_rows import Event, wide_rows
from profiler_core.ingest.limits import Limits
from profiler_core.model.tally import CUT_BETWEEN, CUT_SHORT
from profiler_core.typed import ready

UNREADABLE = "not readable as JSON"
NOT_CLOSED = "closing bracket missing"
DUPLICATE_KEY = "duplicate key, the last one holds"
FURTHER_DOCUMENT = "further document in the same file, left out"
STRAY_BRACKET = "stray bracket between events"

_KEYS = r"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s|cname|sf|tts|tdur)"
_EVENT_START = re.compile(r'\{\s*"' + _KEYS + r'"\s*:')
_BORDER = re.compile(r"\}\s*,\s*(?=" + _EVENT_START.pattern + r")")
_NEXT_EVENT = re.compile(r",\s*(?=" + _EVENT_START.pattern + r")")
_ARRAY_END = re.compile(r'\}\s*(?=\]\s*(?:\}|,\s*"|$))')
# Kineto's last event: a file that holds it lacks brackets, not events.
_LAST_EVENT = "Record Window End"
# What `Chunks` leaves out between two pieces.
SEPARATOR = b","

_WHITE = re.compile(r"[ \t\r\n]*")
_NO_EVENT_KEY = '"(?!' + _KEYS + r'"\s*:)'
_AFTER_END = re.compile(r"\s*(?:$|\}|\[|,\s*" + _NO_EVENT_KEY + r"|\{\s*" + _NO_EVENT_KEY + r")")


class _Document(msgspec.Struct):
    traceEvents: msgspec.Raw  # noqa: N815  # Kineto's spelling


class Mender:
    """Takes the pieces that do not parse, in their order, and remembers where the array ends."""

    def __init__(self, limits: Limits) -> None:
        self.in_object = True  # the array is a value in an object, so keys may follow it
        self.ended = False  # its closing bracket has been seen
        self.rest = b""  # an event without an end so far; belongs before the next piece
        self.metadata: dict[str, Any] = {}  # the keys after the array
        self.repairs: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self._has_last_event = False
        self._limits = limits
        self._tail = bytearray()
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object, parse_float=Decimal, parse_constant=self._constant
        )
        self._lenient = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_float=Decimal,
            parse_constant=self._constant,
            strict=False,
        )

    def split_end(self, text: bytes) -> bytes | None:
        """The events of the last piece, where bracket and keys after it are sound; else None."""
        try:
            if self.in_object:
                document = b'{"traceEvents":[' + text
                events = bytes(msgspec.json.decode(document, type=ready(_Document)).traceEvents)
                after = b'{"_":0' + document[len(b'{"traceEvents":') + len(events) :]
                self.metadata = _plain(msgspec.json.decode(after, type=dict[str, Any]))
            else:
                events = bytes(msgspec.json.decode(b"[" + text, type=msgspec.Raw))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        self.metadata.pop("_", None)
        self.ended = True
        return events[1:-1]

    def mend(self, data: bytes, *, is_last: bool) -> pl.DataFrame:
        """The wide rows of every event in the rest and `data` that can be read.

        Raises:
            BadInput: an event has no end within what the limits allow.
        """
        text, n_bytes = mend_text.to_text(self.joined(data))
        if n_bytes:
            self.repairs[mend_text.NOT_UTF8] += n_bytes
        self.rest = b""
        self._has_last_event |= _LAST_EVENT in text
        events = list(self._events(text, is_last=is_last))
        if len(self.rest) > self._limits.max_piece_bytes:
            raise BadInput(
                f"An event has no end within {self._limits.max_piece_bytes >> 20} MiB.",
                remedy="Pass a trace that torch.profiler wrote.",
            )
        return wide_rows(events, self.repairs)

    def joined(self, data: bytes) -> bytes:
        """`data` behind what is left of the piece before."""
        return self.rest + SEPARATOR + data if self.rest else data

    def take_tail(self, text: bytes) -> None:
        """Keep what follows the array; more than the limit is of no use to anybody."""
        room = self._limits.max_piece_bytes - len(self._tail)
        self._tail += SEPARATOR[:room] + text[: max(0, room - 1)]

    def close(self) -> None:
        """The file is at its end: read the keys after the array, say what is missing."""
        if not self.ended:
            self.repairs[self._what_is_missing()] += 1
        elif self._tail:
            self._read_tail(mend_text.to_text(bytes(self._tail))[0])

    def _what_is_missing(self) -> str:
        if self.rest.strip():
            return CUT_SHORT
        # The array format of Chrome may end without its bracket.
        return CUT_BETWEEN if self.in_object and not self._has_last_event else NOT_CLOSED

    def _events(self, text: str, *, is_last: bool) -> Iterator[Event]:
        position, commas = 0, 0
        while True:
            position = _skip_white(text, position)
            if position == len(text):
                return
            character = text[position]
            if character == ",":
                commas += 1
                position += 1
                if commas > 1:
                    self.repairs["doubled comma"] += 1
            elif character == "{":
                commas = 0
                event, position = self._event(text, position, is_last=is_last)
                if event is not None:
                    yield event
            elif character == "]" and _AFTER_END.match(text, position + 1):
                if commas:
                    self.repairs[mend_text.COMMA] += 1
                self.ended = True
                self._tail += text[position + 1 :].encode(errors="replace")
                return
            elif character == "]":
                self.repairs[STRAY_BRACKET] += 1
                position += 1
            else:
                position = self._garbage(text, position, is_last=is_last)

    def _event(self, text: str, start: int, *, is_last: bool) -> tuple[Event | None, int]:
        """(the event at `start` or None, where to go on)."""
        try:
            return self._decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            pass
        border = _BORDER.search(text, start)
        end = border or (_ARRAY_END.search(text, start) if is_last else None)
        if end is None:
            self.rest = text[start:].encode(errors="replace")
            return None, len(text)
        event = self._mended(text[start : end.start() + 1])
        if event is None:
            self.skipped[UNREADABLE] += 1
            # Its own closing brace may be what is damaged: the event after it is whole.
            following = _NEXT_EVENT.search(text, start, end.start())
            if following is not None:
                return None, following.end()
        return event, end.end()

    def _mended(self, text: str) -> Event | None:
        mends: Counter[str] = Counter()
        for name, repair in ((None, None), *mend_text.EVENT_REPAIRS):
            if repair is not None:
                text, n_places = repair(text)
                if not n_places:
                    continue
                if name:
                    mends[name] += n_places
            for decoder in (self._decoder, self._lenient):
                before = self.repairs.copy()
                try:
                    event = decoder.decode(text)
                except (ValueError, RecursionError):
                    self.repairs = before
                    continue
                if not isinstance(event, dict):
                    return None
                if decoder is self._lenient:
                    mends[mend_text.CONTROL] += 1
                self.repairs += mends
                return event
        return None

    def _garbage(self, text: str, position: int, *, is_last: bool) -> int:
        """Skip what is no event at all, up to the next one or the end of the array."""
        self.skipped[UNREADABLE] += 1
        following = _EVENT_START.search(text, position)
        if following is not None:
            return following.start()
        end = text.find("]", position) if is_last else -1
        return end if end >= 0 else len(text)

    def _read_tail(self, text: str) -> None:
        if not self.in_object:
            self._further(text)
            return
        if not text.strip():
            self.repairs[NOT_CLOSED] += 1
            return
        try:
            fields, end = self._lenient.raw_decode('{"_":0' + text)
        except (ValueError, RecursionError):
            self.repairs["unreadable text after the events"] += 1
            return
        fields.pop("_", None)
        self.metadata = _plain(fields)
        self._further(text[end - len('{"_":0') :])

    def _further(self, text: str) -> None:
        if text.strip(" \t\r\n\0"):
            self.repairs[FURTHER_DOCUMENT] += 1

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            self.repairs[DUPLICATE_KEY] += len(pairs) - len(fields)
        return fields

    def _constant(self, _name: str) -> None:
        self.repairs[mend_text.CONSTANT] += 1


def metadata(head: bytes) -> dict[str, Any]:
    """The keys before the array, from its text closed with a brace; empty where unreadable."""
    try:
        return _plain(msgspec.json.decode(head, type=dict[str, Any]))
    except (ValueError, RecursionError):
        pass
    text, _ = mend_text.mend_piece(head)
    try:
        fields = json.loads(text, strict=False, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return {}
    return _plain(fields) if isinstance(fields, dict) else {}


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Only what JSON can hold again: the decimals of the patient parser become floats."""
    plain: dict[str, Any] = json.loads(json.dumps(fields, default=float))
    return plain


def _skip_white(text: str, position: int) -> int:
    match = _WHITE.match(text, position)
    return match.end() if match else position
