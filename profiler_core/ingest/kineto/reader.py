"""Kineto Chrome-trace JSON -> Trace.

Covers the files of torch.profiler's export_chrome_trace from torch 2.1 on, packed or not, and what
other tools make of them (re-indented, a bare array). Source of the format: kineto
`libkineto/src/output_json.cpp`; ts and dur are decimal microseconds whatever displayTimeUnit says.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from profiler_core.errors import NotATrace
from profiler_core.ingest import limits as limits_of
from profiler_core.ingest.kineto.chunks import CHUNK_BYTES, Chunks
from profiler_core.ingest.kineto.pipeline import Pipeline
from profiler_core.ingest.kineto.repair import Mender
from profiler_core.ingest.kineto.tables import Dealer, Rows
from profiler_core.ingest.limits import Limits
from profiler_core.ingest.spool import Spool
from profiler_core.ingest.stream import Stream
from profiler_core.ingest.unloaded import Reading
from profiler_core.model.tally import Tally
from profiler_core.model.trace import Trace

# A clock whose first real event is later than this did not start with the recording.
_LONG_AGO_NS = 60 * 10**9

UNFILLED = "start and duration never filled in (0)"


def read_kineto(
    path: Path,
    progress: Callable[[int, int], None] | None = None,
    *,
    limits: Limits | None = None,
    chunk_bytes: tuple[int, ...] = CHUNK_BYTES,
) -> Trace:
    """Read one trace file into memory; for arguments and errors see `reading`."""
    with reading(path, progress, limits=limits, chunk_bytes=chunk_bytes) as read:
        return read.load()


@contextmanager
def reading(
    path: Path,
    progress: Callable[[int, int], None] | None = None,
    *,
    limits: Limits | None = None,
    scratch: Path | None = None,
    chunk_bytes: tuple[int, ...] = CHUNK_BYTES,
    name: str | None = None,
) -> Iterator[Reading]:
    """Read one trace file.

    Args:
        path: .json, .json.gz, .json.zst, or a .zip with one of these.
        progress: called with (bytes read, bytes in all); what it raises stops the reading.
        limits: what the file may ask for.
        scratch: folder for a temporary file of about a quarter of the trace.
        chunk_bytes: sizes of the first pieces and of all further ones; tests shrink them.
        name: what to call the file in errors; its own name by default.

    Raises:
        NotATrace: there is no array of events, or nothing in it can be read.
        BadInput: the file exceeds a limit.
    """
    limits = limits or limits_of.configured()
    name = name or path.name
    stream = Stream(path, limits, name)
    chunks = Chunks(_watched(stream, progress), name, limits, chunk_bytes)
    dealer = Dealer()
    total = Rows()
    with Spool(scratch) as spool:
        with Pipeline(limits, dealer) as pipeline:
            for rows in pipeline.run(chunks):
                total.add(rows)
                stream.meter.count(rows.n_events)
                for table_name, packed in rows.tables.items():
                    spool.append(table_name, packed)
        _count_repairs(total, pipeline.mender, stream)
        metadata = {**chunks.metadata, **pipeline.mender.metadata}
        drop_unfilled = total.n_unfilled > 0 and (total.first_ns or 0) > _LONG_AGO_NS
        if drop_unfilled:
            total.skipped[UNFILLED] += total.n_unfilled
        if total.skipped and total.n_events == sum(total.skipped.values()):
            raise NotATrace(
                f"{name} has events, but none can be read: {', '.join(total.skipped)}.",
                remedy="Pass the file that torch.profiler's export_chrome_trace wrote.",
            )
        origin_ns = total.first_ns or 0
        if total.n_unfilled and not drop_unfilled:
            origin_ns = min(0, origin_ns)

        def table(table_name: str) -> pl.DataFrame:
            frame = dealer.assemble(table_name, spool.take(table_name))
            if drop_unfilled and "dur_ns" in frame.columns:
                frame = frame.filter((pl.col("ts_ns") != 0) | (pl.col("dur_ns") != 0))
            if not frame.height:
                return frame
            return frame.with_columns(pl.col("ts_ns") - origin_ns)

        yield Reading(
            source=name,
            origin_ns=origin_ns + _base_ns(metadata),
            metadata=metadata,
            tally=Tally(
                n_events=total.n_events,
                skipped=dict(total.skipped),
                repairs=dict(total.repairs),
                unread_keys=dict(total.unread_keys),
            ),
            table=table,
        )


def _watched(stream: Stream, progress: Callable[[int, int], None] | None) -> Iterator[bytes]:
    for block in stream:
        if progress is not None:
            progress(stream.bytes_read, stream.bytes_total)
        yield block


def _count_repairs(total: Rows, mender: Mender, stream: Stream) -> None:
    total.repairs += mender.repairs
    total.skipped += mender.skipped
    total.n_events += sum(mender.skipped.values())
    if stream.damage:
        total.repairs[stream.damage] += 1


def _base_ns(metadata: dict[str, Any]) -> int:
    """baseTimeNanoseconds, written from torch 2.4 on: what ts counts from."""
    try:
        return int(metadata.get("baseTimeNanoseconds") or 0)
    except (TypeError, ValueError, OverflowError):
        return 0
