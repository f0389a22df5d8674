"""Kineto's Chrome trace: what torch.profiler's export_chrome_trace writes."""

import json
import re
from contextlib import AbstractContextManager
from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.ingest.columns import Source
from profiler_core.ingest.file_kind import (
    Certainty,
    Options,
    Progress,
    RankHeader,
    Role,
    TraceFormat,
)
from profiler_core.ingest.kineto.reader import reading

# Kineto writes one object; Chrome's array form is a bare list of events (Trace Event Format).
_EVENT = re.compile(rb'"ph"\s*:\s*"[XBEiIsfMC]"')
_KEYS = (b'"traceEvents"', b'"deviceProperties"', b'"schemaVersion"')
_DISTRIBUTED = re.compile(rb'"distributedInfo"\s*:\s*(\{)')


def _is_it(head: bytes) -> bool:
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"["):
        return bool(_EVENT.search(head))
    return text.startswith(b"{") and any(key in head for key in _KEYS)


def _rank_header(head: bytes) -> RankHeader:
    """Nothing is parsed but Kineto's record of the job."""
    record = _DISTRIBUTED.search(head)
    if record is None:
        return RankHeader()
    try:
        text = head[record.start(1) :].decode("utf-8", "replace")
        job, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return RankHeader()
    return RankHeader(_whole(job.get("rank")), _whole(job.get("world_size")))


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _read(
    path: Path, progress: Progress | None, *, scratch: Path, options: Options, name: str
) -> AbstractContextManager[Source]:
    del options  # it declares none
    return reading(path, progress, scratch=scratch, name=name)


FORMAT = TraceFormat(
    slug="kineto",
    description="a Kineto trace",
    plural="Kineto traces (.json)",
    role=Role.TRACE,
    certainty=Certainty.STRUCTURE,
    is_it=_is_it,
    stored_as=names.TRACE.removesuffix(".gz"),
    endings=(".json", ".trace", ".pt.trace.json", ".pt.trace"),
    usual_words=frozenset({"trace"}),
    read=_read,
    recorded_by="torch.profiler",
    rank_header=_rank_header,
    reads_unrecognised=True,
)
