"""Summaries and jobs as bytes, to be kept or sent: MessagePack, with the calls as Arrow inside."""

import io
from typing import Any

import msgspec
import polars as pl

from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.ranks.rank_summary import RankSummary
from profiler_core.analysis.ranks.rank_time import StepTime

VERSION = 2  # of what is written; older files are made anew


def pack_summary(summary: RankSummary) -> bytes:
    """One rank as bytes."""
    calls = io.BytesIO()
    summary.calls.write_ipc(calls, compression="zstd")
    return msgspec.msgpack.encode({**vars(summary), "calls": calls.getvalue()})


def unpack_summary(data: bytes) -> RankSummary:
    """The inverse of `pack_summary`.

    Raises:
        msgspec.DecodeError: these bytes are no summary.
    """
    fields: dict[str, Any] = msgspec.msgpack.decode(data)
    steps = msgspec.convert(fields.pop("steps"), tuple[StepTime, ...])
    calls = pl.read_ipc(io.BytesIO(fields.pop("calls")))
    mended = tuple(fields.pop("mended"))
    return RankSummary(steps=steps, calls=calls, mended=mended, **fields)


def pack_job(job: Job) -> bytes:
    """A job as bytes."""
    return msgspec.msgpack.encode(job)


def unpack_job(data: bytes) -> Job:
    """The inverse of `pack_job`.

    Raises:
        msgspec.DecodeError: these bytes are no job.
    """
    return msgspec.msgpack.decode(data, type=Job)
