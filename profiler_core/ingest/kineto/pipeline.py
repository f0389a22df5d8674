"""Unpacking, cutting, decoding and mending at the same time, rows out in the order of the file.

One thread unpacks and cuts while all cores decode; the pieces are taken in their order, because
a piece is only known to start between two events once the one before it has parsed.
"""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

import polars as pl

from profiler_core.ingest.kineto import mend_text
from profiler_core.ingest.kineto.chunks import Chunks
from profiler_core.ingest.kineto.counter_events import counter_rows
from profiler_core.ingest.kineto.decode import UndecodableError, decoder
from profiler_core.ingest.kineto.repair import Mender
from profiler_core.ingest.kineto.tables import UNREAD_COUNTERS, Dealer, Rows
from profiler_core.ingest.kineto.unread_keys import unread_keys
from profiler_core.ingest.limits import Limits


class Pipeline:
    """Decodes pieces on all cores and hands their rows out in the order of the file."""

    def __init__(self, limits: Limits, dealer: Dealer) -> None:
        self.mender = Mender(limits)
        self._dealer = dealer
        self._n_workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4
        self._decoder = decoder()
        self._pool = ThreadPoolExecutor(self._n_workers, thread_name_prefix="decode")

    def __enter__(self) -> Self:
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
            yield self._dealt(wide, text)

    def _decode(self, text: bytes) -> Rows:
        try:
            rows = self._dealt(self._decoder.decode(text), text)
            if n_quoted := mend_text.count_quoted_numbers(text):
                rows.repairs[mend_text.QUOTED] += n_quoted
            return rows
        except UndecodableError:
            # Whole files are written with lone backslashes, on Windows: worth a fast way.
            mended, repairs = mend_text.mend_piece(text)
            if not repairs:
                raise
            rows = self._dealt(self._decoder.decode(mended), mended)
            rows.repairs += repairs
            return rows

    def _dealt(self, wide: pl.DataFrame, text: bytes) -> Rows:
        """The rows, with what only the text tells."""
        rows = self._dealer.deal(wide)
        rows.unread_keys = unread_keys(text)
        if rows.skipped[UNREAD_COUNTERS]:
            counters, n_events = counter_rows(text)
            self._dealer.add_counters(rows, counters, n_events)
        return rows
