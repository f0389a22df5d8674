"""Kineto Chrome-trace JSON -> Trace.

Covers the files of torch.profiler's export_chrome_trace from torch 2.1 on, packed or not, and what
other tools make of them (re-indented, a bare array). Source of the format: kineto
`libkineto/src/output_json.cpp`; ts and dur are decimal microseconds whatever displayTimeUnit says.

Unpacking, cutting, decoding and mending overlap: this thread unpacks and cuts while all cores
decode, and takes the pieces in their order.
"""

import gc
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from profiler_core.errors import NotATrace
from profiler_core.ingest import limits as limits_of
from profiler_core.ingest import mend_text
from profiler_core.ingest.kineto_chunks import CHUNK_BYTES, Chunks
from profiler_core.ingest.kineto_decode import Decoder, UndecodableError
from profiler_core.ingest.kineto_tables import Dealer, Rows
from profiler_core.ingest.limits import Limits
from profiler_core.ingest.repair import Mender
from profiler_core.ingest.spool import Spool
from profiler_core.ingest.stream import Stream
from profiler_core.model.tally import Tally
from profiler_core.model.trace import TABLE_SCHEMAS, Trace

# A clock whose first real event is later than this did not start with the recording.
_LONG_AGO_NS = 60 * 10**9


def read_kineto(
    path: Path,
    progress: Callable[[int, int], None] | None = None,
    *,
    limits: Limits | None = None,
    scratch: Path | None = None,
    chunk_bytes: tuple[int, ...] = CHUNK_BYTES,
) -> Trace:
    """Read one trace file.

    Args:
        path: .json, .json.gz, .json.zst, or a .zip with one of these.
        progress: called with (bytes read, bytes in all); what it raises stops the reading.
        limits: what the file may ask for.
        scratch: folder for a temporary file of about a quarter of the trace.
        chunk_bytes: sizes of the first pieces and of all further ones; tests shrink them.

    Raises:
        NotATrace: there is no array of events, or nothing in it can be read.
        BadInput: the file exceeds a limit.
    """
    limits = limits or limits_of.configured()
    stream = Stream(path, limits)
    chunks = Chunks(_watched(stream, progress), path.name, limits, chunk_bytes)
    dealer = Dealer()
    total = Rows()
    with Spool(scratch) as spool:
        with _paused_gc(), _Pipeline(limits, dealer) as pipeline:
            for rows in pipeline.run(chunks):
                _add(total, rows, spool)
            mender = pipeline.mender
        total.repairs += mender.repairs
        total.skipped += mender.skipped
        total.n_events += sum(mender.skipped.values())
        if stream.damage:
            total.repairs[stream.damage] += 1
        if total.skipped and total.n_events == sum(total.skipped.values()):
            raise NotATrace(
                f"{path.name} has events, but none can be read: {', '.join(total.skipped)}.",
                remedy="Pass the file that torch.profiler's export_chrome_trace wrote.",
            )
        tables = {table: dealer.assemble(table, spool.take(table)) for table in TABLE_SCHEMAS}
    return _trace(path.name, tables, total, {**chunks.metadata, **mender.metadata})


class _Pipeline:
    """Decodes pieces on all cores and hands their rows out in the order of the file."""

    def __init__(self, limits: Limits, dealer: Dealer) -> None:
        self.mender = Mender(limits)
        self._dealer = dealer
        self._n_workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4
        self._decoder = Decoder()
        self._pool = ThreadPoolExecutor(self._n_workers, thread_name_prefix="decode")

    def __enter__(self) -> "_Pipeline":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._decoder.close()

    def run(self, chunks: Chunks) -> Iterator[Rows]:
        """The rows of each piece; what is no event goes to the mender."""
        waiting: deque[tuple[bytes, Future[Rows]]] = deque()
        for text, is_last in chunks:
            self.mender.in_object = chunks.in_object
            if is_last:
                yield from self._drain(waiting, 0)
                yield from self._finish(text)
                return
            if self.mender.ended:
                self.mender.take_tail(text)
                continue
            waiting.append((text, self._pool.submit(self._decode, text)))
            # One piece more than cores, so that none waits; each holds some times its text.
            yield from self._drain(waiting, self._n_workers)

    def _drain(self, waiting: deque[tuple[bytes, Future[Rows]]], n_left: int) -> Iterator[Rows]:
        while len(waiting) > n_left:
            text, future = waiting.popleft()
            if self.mender.ended:
                future.cancel()
                self.mender.take_tail(text)
            elif self.mender.rest:  # the piece before did not end between two events
                future.cancel()
                yield from self._mend(text)
            else:
                try:
                    yield future.result()
                except UndecodableError:
                    yield from self._mend(text)

    def _finish(self, text: bytes) -> Iterator[Rows]:
        """The piece with the closing bracket: its events, and the keys after the array."""
        if self.mender.ended:
            self.mender.take_tail(text)
        elif not self.mender.rest and (events := self.mender.split_end(text)) is not None:
            try:
                yield self._decode(events)
            except UndecodableError:
                yield from self._mend(events, is_last=True)
        else:
            yield from self._mend(text, is_last=True)
        self.mender.close()

    def _mend(self, text: bytes, *, is_last: bool = False) -> Iterator[Rows]:
        """Event by event in this thread."""
        if self.mender.rest and not is_last:
            # The piece before ended at a false border; together they may well be sound.
            try:
                rows = self._decode(self.mender.joined(text))
            except UndecodableError:
                pass
            else:
                self.mender.rest = b""
                yield rows
                return
        wide = self.mender.mend(text, is_last=is_last)
        if wide.height:
            yield self._dealer.deal(wide)

    def _decode(self, text: bytes) -> Rows:
        try:
            rows = self._dealer.deal(self._decoder.decode(text))
            if n_quoted := mend_text.count_quoted_numbers(text):
                rows.repairs[mend_text.QUOTED] += n_quoted
            return rows
        except UndecodableError:
            # Whole files are written with lone backslashes, on Windows: worth a fast way.
            mended, repairs = mend_text.mend_piece(text)
            if not repairs:
                raise
            rows = self._dealer.deal(self._decoder.decode(mended))
            rows.repairs += repairs
            return rows


def _watched(stream: Stream, progress: Callable[[int, int], None] | None) -> Iterator[bytes]:
    for block in stream:
        if progress is not None:
            progress(stream.bytes_read, stream.bytes_total)
        yield block


@contextmanager
def _paused_gc() -> Iterator[None]:
    """Without it the collector walks millions of live objects: half of the time, measured."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _add(total: Rows, rows: Rows, spool: Spool) -> None:
    for table, packed in rows.tables.items():
        spool.append(table, packed)
    total.n_events += rows.n_events
    total.skipped += rows.skipped
    total.repairs += rows.repairs


def _trace(
    source: str, tables: dict[str, pl.DataFrame], total: Rows, metadata: dict[str, Any]
) -> Trace:
    tables = {name: _without_unfilled(frame, total) for name, frame in tables.items()}
    starts = [frame["ts_ns"][0] for frame in tables.values() if frame.height]
    origin_ns = min(starts, default=0)
    return Trace(
        source=source,
        origin_ns=origin_ns + _base_ns(metadata),
        metadata=metadata,
        tally=Tally(
            n_events=total.n_events, skipped=dict(total.skipped), repairs=dict(total.repairs)
        ),
        **{
            table: frame.with_columns(pl.col("ts_ns") - origin_ns)
            for table, frame in tables.items()
        },
    )


def _without_unfilled(frame: pl.DataFrame, total: Rows) -> pl.DataFrame:
    """Records that CUPTI never filled in have start and duration 0 (kineto#109).

    On a clock that counts from long ago such a start would stretch the trace over years.
    """
    if frame.height < 2 or frame["ts_ns"][0] != 0 or "dur_ns" not in frame.columns:
        return frame
    unfilled = (pl.col("ts_ns") == 0) & (pl.col("dur_ns") == 0)
    kept = frame.filter(~unfilled)
    if kept.height in (0, frame.height) or kept["ts_ns"][0] < _LONG_AGO_NS:
        return frame
    total.skipped["start and duration never filled in (0)"] += frame.height - kept.height
    return kept


def _base_ns(metadata: dict[str, Any]) -> int:
    """baseTimeNanoseconds, written from torch 2.4 on: what ts counts from."""
    try:
        return int(metadata.get("baseTimeNanoseconds") or 0)
    except (TypeError, ValueError, OverflowError):
        return 0
