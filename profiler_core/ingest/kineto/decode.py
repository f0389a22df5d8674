"""A piece of the events array -> one wide row per event, at the speed of DuckDB's JSON reader.

Measured on this kind of file (212 MB, two cores): 300 MB/s with all fields read, where typed
msgspec makes 115, polars 80 and orjson 43 (research of 2026; benchmarks/ measures it again). It
releases the interpreter's lock, so threads use all cores and share one process's memory.
Where it is not installed, Python's own parser gives the same rows, at 13 MB/s on one core.

DuckDB is strict: what is not JSON, or has a field of another type, is an `UndecodableError` piece.
"""

import json
import os
import re
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from profiler_core.ingest.kineto import mend_text
from profiler_core.ingest.kineto.wide import ARGUMENTS, Argument
from profiler_core.ingest.kineto.wide_rows import wide_rows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# A double tells decimal microseconds with three places apart up to 2^43 (101 days; Kineto keeps
# its ts below 92 days since baseTimeNanoseconds exists). Larger ones with a fraction are quoted
# first, so that their digits are taken from the text. Whole ones are exact up to 2^53.
_EXACT_UP_TO_NS = (1 << 43) * 1000
_LARGE_WITH_FRACTION = re.compile(rb'"ts"\s*:\s*"?-?\d{13,}\.\d')
_NUMBER = re.compile(rb'(?<!\\)"(ts|dur)"(\s*:\s*)(-?\d[\d.eE+-]*)')

# DuckDB's names are case-insensitive, so "bytes" (of a copy) would clash with "Bytes" (of an
# allocation): the rarer of the two is renamed in the text, by one character.
_BYTES, _BYTES_RENAMED = b'"bytes":', "byte$"

# The ends of "pid" and "tid" before a text, as a writer with a blank after the colon has them and
# as one without: each look at all of a piece takes a twentieth of the time that reading it does.
_BEFORE_TEXT = (b'id": "', b'id":"')
_SPACED, _CLOSE = re.compile(rb'"[pt]id": '), re.compile(rb'"[pt]id":[^ ]')
_STYLE_BYTES = 4096  # at a piece's begin, which show how its writer spaces
_WORD = re.compile(rb'[^"\\0-9]*"')
_MOST_WORDS = 64  # each moves what follows it in the text

# The reader's buffers are twice the longest event that it is told to expect.
_USUAL_BYTES = 1 << 20


class UndecodableError(Exception):
    """The piece is not plain JSON of the expected types. Never leaves ingest."""


class Decoder(Protocol):
    """Decodes pieces from any number of threads."""

    def decode(self, events: bytes) -> pl.DataFrame:
        """One row of WIDE_SCHEMA for each event, in their order.

        Args:
            events: what stands between the brackets of a JSON array of objects.

        Raises:
            UndecodableError: it is not, or a field has a type that this way of reading cannot take.
        """

    def close(self) -> None:
        """Give the memory back."""


def decoder() -> Decoder:
    """DuckDB's reader where it and Arrow are installed, else Python's."""
    try:
        # Here, because its 0.2 s would be waited for by everybody who only opens columns.
        import duckdb  # noqa: F401
        import pyarrow  # noqa: F401  # to_arrow_table imports it
    except ImportError:
        return PlainDecoder()
    return DuckDbDecoder()


class PlainDecoder:
    """Sound events as `repair` reads damaged ones, which it leaves to that."""

    def __init__(self) -> None:
        self._decoder = json.JSONDecoder(
            object_pairs_hook=_object, parse_float=Decimal, parse_constant=_constant
        )

    def decode(self, events: bytes) -> pl.DataFrame:
        """See `Decoder`."""
        repairs: Counter[str] = Counter()
        try:
            rows: list[object] = self._decoder.decode(f"[{events.decode()}]")
        except (ValueError, RecursionError) as error:
            raise UndecodableError(str(error)) from error
        records = [row for row in rows if isinstance(row, dict)]
        if len(records) < len(rows):
            raise UndecodableError("an event is no object")
        wide = wide_rows(records, repairs)
        if set(repairs) - {mend_text.QUOTED}:  # quoted numbers are counted in the text
            raise UndecodableError("an event has a field of another type")
        return wide

    def close(self) -> None:
        """Nothing is held."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("an object has a key twice")
    return fields


def _constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


class DuckDbDecoder:
    """Has one cursor for each thread, of the one database that the process starts."""

    def __init__(self) -> None:
        import duckdb

        self._error = duckdb.Error
        self._connection = _database().cursor()
        self._thread = threading.local()
        self._quote_times = False

    def close(self) -> None:
        """Give the memory back."""
        self._connection.close()

    def decode(self, events: bytes) -> pl.DataFrame:
        """See `Decoder`."""
        if self._quote_times:
            return self._read(_NUMBER.sub(rb'"\1"\2"\3"', events), typed=False)
        wide = self._read(events, typed=True)
        furthest = wide["ts_ns"].abs().max()
        if (
            isinstance(furthest, int)
            and furthest >= _EXACT_UP_TO_NS
            and _LARGE_WITH_FRACTION.search(events)
        ):
            self._quote_times = True
            return self.decode(events)
        return wide

    def _read(self, events: bytes, *, typed: bool) -> pl.DataFrame:
        text = bytearray(b"[")
        text += events
        text += b"]"
        _rename_bytes(text)
        if typed:
            _drop_words(text)
        with _as_file(text) as path:
            if typed:
                try:
                    return self._query(_TYPED_QUERY, path, _USUAL_BYTES)
                except self._error:
                    pass
            # Perhaps only a text where a number stood ("tid": "stream 7"), a number that overflows,
            # or an event longer than usual: read every value as text and convert what can be.
            # Costs twice as much.
            try:
                return self._query(_TEXT_QUERY, path, max(_USUAL_BYTES, len(text)))
            except self._error as error:
                raise UndecodableError(str(error)) from error

    def _query(self, query: str, path: str, largest: int) -> pl.DataFrame:
        if not hasattr(self._thread, "cursor"):
            self._thread.cursor = self._connection.cursor()
        relation = self._thread.cursor.sql(query.format(path=path, largest=largest))
        return pl.DataFrame(relation.to_arrow_table())


@cache  # its start takes as long as reading a megabyte
def _database() -> "DuckDBPyConnection":
    """Empty, in memory."""
    import duckdb

    database = duckdb.connect(config={"threads": 1})
    with suppress(duckdb.Error):  # in Jupyter without ipywidgets, where it is off already
        database.execute("SET enable_progress_bar = false")
    with suppress(duckdb.Error):  # an older one copies each text once more
        database.execute("SET arrow_output_version = '1.4'")
        database.execute("SET produce_arrow_string_view = true")
    return database


def _rename_bytes(text: bytearray) -> None:
    position = text.find(_BYTES)
    while position >= 0:
        text[position + 5] = ord("$")
        position = text.find(_BYTES, position + len(_BYTES))


def _drop_words(text: bytearray) -> None:
    """Write null for a pid or tid that is a word without a digit, which is none (`_identifier`).

    Kineto writes a few such events in each trace, and a piece with one would be read twice. In
    JSON the bytes `"pid": "` are always a key with its text: inside a text quotes are escaped.
    """
    dropped = 0
    for before in _text_marks(text):
        position = text.find(before)
        while position >= 0:
            begin = position + len(before)
            if bytes(text[position - 2 : position]) in (b'"p', b'"t'):
                word = _WORD.match(text, begin)
                if word is None or dropped == _MOST_WORDS:  # a text that may be a number, or many
                    return
                text[begin - 1 : word.end()] = b"null"
                dropped += 1
            position = text.find(before, begin)


def _text_marks(text: bytearray) -> tuple[bytes, ...]:
    """What to look for; a piece that spaces otherwise further down is only read twice."""
    is_spaced = _SPACED.search(text, 0, _STYLE_BYTES) is not None
    is_close = _CLOSE.search(text, 0, _STYLE_BYTES) is not None
    if is_spaced == is_close:
        return _BEFORE_TEXT
    return _BEFORE_TEXT[:1] if is_spaced else _BEFORE_TEXT[1:]


@contextmanager
def _as_file(text: bytearray) -> Iterator[str]:
    """A path under which DuckDB finds `text`: in memory where the system can (Linux)."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("fusionscope-events")
        try:
            _write_all(handle, text)
            yield f"/proc/self/fd/{handle}"
        finally:
            os.close(handle)
    else:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            file.write(text)
            file.flush()
            yield file.name


def _write_all(handle: int, text: bytearray) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _read_type(argument: Argument) -> str:
    types = {"integer": "BIGINT", "unsigned": "UBIGINT", "number": "DOUBLE", "text": "VARCHAR"}
    return types[argument.kind]


def _file_key(argument: Argument) -> str:
    return _BYTES_RENAMED if argument.key == "bytes" else argument.key


def _nanoseconds(field: str, *, typed: bool) -> str:
    if not typed:  # from the decimal text; below a nanosecond it rounds half away
        return f"TRY_CAST(TRY_CAST({field} AS DECIMAL(22, 3)) * 1000 AS BIGINT) AS {field}_ns"
    # Whole and fraction apart: their difference is exact, and a thousand times the fraction is
    # within half a nanosecond of the truth up to _EXACT_UP_TO_NS; the product of both is not.
    microseconds = f"floor({field})"
    return (
        f"TRY_CAST({microseconds} AS BIGINT) * 1000 "
        f"+ TRY_CAST(round(({field} - {microseconds}) * 1000) AS BIGINT) AS {field}_ns"
    )


def _identifier(field: str, *, typed: bool) -> str:
    if typed:
        return field
    # Old files write tid "stream 7"; a pid such as "Spans" is none.
    digits = rf"nullif(regexp_extract({field}, '([0-9]+) *$', 1), '')"
    return f"coalesce(TRY_CAST({field} AS BIGINT), TRY_CAST({digits} AS BIGINT)) AS {field}"


def _build_query(*, typed: bool) -> str:
    types = {a.column: _read_type(a) if typed else "VARCHAR" for a in ARGUMENTS}
    struct = ", ".join(f'"{_file_key(a)}" {types[a.column]}' for a in ARGUMENTS)
    numbers = {"pid": "BIGINT", "tid": "BIGINT", "ts": "DOUBLE", "dur": "DOUBLE"} if typed else {}
    plain = ", ".join(
        f"{key}: '{numbers.get(key, 'VARCHAR')}'"
        for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur")
    )
    arguments = ", ".join(
        f'args."{_file_key(a)}" AS {a.column}'
        if typed or a.kind == "text"
        else f'TRY_CAST(args."{_file_key(a)}" AS {_read_type(a)}) AS {a.column}'
        for a in ARGUMENTS
    )
    plain_fields = (
        "ph, cat, name",
        _identifier("pid", typed=typed),
        _identifier("tid", typed=typed),
        _nanoseconds("ts", typed=typed),
        _nanoseconds("dur", typed=typed),
        "ts IS NOT NULL AS has_ts, dur IS NOT NULL AS has_dur",
    )
    fields = ", ".join((*plain_fields, arguments))
    source = (
        "read_json('{path}', format='array', compression='none', "
        f"columns={{{{{plain}, args: 'STRUCT({struct})'}}}}, maximum_object_size={{largest}})"
    )
    # Made of the constants above alone; the path is a file descriptor of our own.
    return f"SELECT {fields} FROM {source}"  # noqa: S608


_TYPED_QUERY = _build_query(typed=True)
_TEXT_QUERY = _build_query(typed=False)
