"""A TORCH_TRACE file -> its records, one at a time, in bounded memory.

A record is one line, glog prefix and a JSON object, then its payload: lines that begin with one
tab. Half of all records are `chromium_event`; `describe_*` are skipped unread.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from profiler_core.ingest.torch_logs.lines import CHUNK_BYTES, chunks
from profiler_core.ingest.windows_paths import with_slashes

HEADER = re.compile(
    rb"(?:\[rank\d+\]:)?[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d{3,9} \d+ "
    rb"[^\n]{1,400}?:\d+\] (?=\{)"
)
# Never read: the tensors of each graph, one record each.
SKIPPED = (b'{"describe_', b'{"create_symbol"', b'{"guard_added', b'{"create_unbacked')
ENVELOPE = frozenset(
    {
        "frame_id",
        "frame_compile_id",
        "attempt",
        "compiled_autograd_id",
        "rank",
        "has_payload",
        "stack",
        "process",
        "thread",
        "pathname",
        "lineno",
        "timestamp",
    }
)
# All lines of a payload in one match, else one line: a loop over lines took a third of the time.
_SEGMENT = re.compile(rb"(?:\t[^\n]*+\n)++|[^\n]*+\n")
# The largest payload met is a guard tree of 400 kB; generated code runs to a few MB.
MAX_PAYLOAD_BYTES = 1 << 24
MAX_LINE_BYTES = 1 << 24


# The first line of a record: kind, body, compile id, rank.
_Head = tuple[str, Any, str | None, int | None]


class TraceRecord(NamedTuple):
    """One record. The payload is None where the caller did not want it."""

    kind: str  # the record-type key; artifacts: "artifact:NAME"
    body: Any  # the value of that key
    compile_id: str | None
    rank: int | None
    payload: bytes | None
    n_lines: int  # of the whole record


def records(
    path: Path,
    kinds: frozenset[str],
    repairs: Counter[str],
    skipped: Counter[str],
    size: int = CHUNK_BYTES,
) -> Iterator[TraceRecord]:
    """Yield the records of `path` in order.

    Args:
        path: plain or gzipped.
        kinds: record kinds whose payload is kept.
        repairs: counts what was mended.
        skipped: counts records that were not read, by kind or reason.
        size: bytes read at a time; tests make it small.
    """
    current: _Head | None = None
    keep = False  # is the payload of the current record wanted?
    payload: list[bytes] = []
    n_payload = n_lines = 0
    for text in _whole_lines(path, repairs, size):
        for match in _SEGMENT.finditer(text):
            segment = match[0]
            if segment[:1] == b"\t":
                if keep and n_payload < MAX_PAYLOAD_BYTES:
                    payload.append(segment[: MAX_PAYLOAD_BYTES - n_payload])
                n_payload += len(segment)
                n_lines += segment.count(b"\n")
                continue
            if current is not None:
                yield _record(current, payload if keep else None, n_lines)
            current = _header(segment[:-1], skipped)
            keep = current is not None and current[0] in kinds
            payload, n_payload, n_lines = [], 0, 0
    if current is not None:
        yield _record(current, payload if keep else None, n_lines)


def payload_text(payload: bytes) -> str:
    """Payloads are UTF-8; anything else is shown with replacement characters."""
    return with_slashes(payload.decode("utf-8", errors="replace"))


def decode(text: bytes) -> Any:
    """JSON as Python writes it, NaN and Infinity included. Raises ValueError."""
    try:
        return msgspec.json.decode(text)
    except RecursionError as error:
        raise ValueError("it nests without end") from error
    except ValueError:
        return json.loads(text)


def _record(head: _Head, payload: list[bytes] | None, n_lines: int) -> TraceRecord:
    text = (
        None
        if payload is None
        else b"".join(payload)[1:].removesuffix(b"\n").replace(b"\n\t", b"\n")
    )
    kind, body, compile_id, rank = head
    return TraceRecord(kind, body, compile_id, rank, text, n_lines + 1)


def _header(line: bytes, skipped: Counter[str]) -> _Head | None:
    """The first line of a record; None, counted, for anything that is not to be read."""
    match = HEADER.match(line) or (HEADER.search(line) if b"] {" in line[:600] else None)
    if match is None:
        if line.strip():
            skipped["line outside any record"] += 1
        return None
    begin = match.end()
    if line.startswith(SKIPPED, begin):
        skipped[line[begin + 2 : begin + 62].partition(b'"')[0].decode(errors="replace")] += 1
        return None
    try:
        data = decode(line[begin:])
    except (ValueError, RecursionError):
        skipped["record that is no JSON"] += 1
        return None
    kind = None
    if isinstance(data, dict):
        for key in data:
            if key not in ENVELOPE:
                kind = key
                break
    if kind is None:
        skipped["record without a kind"] += 1
        return None
    body = data[kind]
    if kind == "artifact" and isinstance(body, dict):
        kind = f"artifact:{body.get('name')}"
    rank = data.get("rank")
    return (
        kind,
        body,
        _compile_id(data),
        rank if isinstance(rank, int) else None,
    )


def _compile_id(data: dict[str, Any]) -> str | None:
    frame, compiled = data.get("frame_id"), data.get("frame_compile_id")
    autograd = data.get("compiled_autograd_id")
    text = f"{frame}/{compiled}" if frame is not None and compiled is not None else None
    if autograd is not None:
        return f"!{autograd}/{text}" if text else f"!{autograd}"
    return text


def _whole_lines(path: Path, repairs: Counter[str], size: int) -> Iterator[bytes]:
    """The text in pieces that end with a line; what goes beyond MAX_LINE_BYTES is cut."""
    rest, cutting = b"", False
    for chunk in chunks(path, repairs, size):
        text = chunk
        if cutting:
            _, newline, after = chunk.partition(b"\n")
            if not newline:
                continue
            cutting, text = False, b"\n" + after
        complete, newline, rest_of = (rest + text).rpartition(b"\n")
        rest = rest_of
        if len(rest) > MAX_LINE_BYTES:
            rest, cutting = rest[:MAX_LINE_BYTES], True
            repairs["line cut at 16 MB"] += 1
        if newline:
            yield complete + newline
    if rest:
        yield rest + b"\n"
