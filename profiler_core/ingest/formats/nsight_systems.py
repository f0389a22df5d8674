"""The SQLite export of a recording of Nsight Systems (`nsys export --type sqlite`)."""

from contextlib import AbstractContextManager
from pathlib import Path

from profiler_core.ingest.columns import Source
from profiler_core.ingest.file_kind import (
    Certainty,
    Options,
    Progress,
    ReadOption,
    Role,
    TraceFormat,
)
from profiler_core.ingest.nsight_systems.about import TOOL
from profiler_core.ingest.nsight_systems.choice import Choice
from profiler_core.ingest.nsight_systems.database import MAGIC
from profiler_core.ingest.nsight_systems.reader import check_is_export, reading


def _is_it(head: bytes) -> bool:
    return head.startswith(MAGIC)  # whether nsys wrote it, its tables tell


def _read(
    path: Path, progress: Progress | None, *, scratch: Path, options: Options, name: str
) -> AbstractContextManager[Source]:
    return reading(path, progress, scratch=scratch, choice=Choice.of(options), name=name)


FORMAT = TraceFormat(
    slug="nsight_systems",
    description="an SQLite export of Nsight Systems",
    plural="SQLite exports of Nsight Systems (.sqlite)",
    role=Role.TRACE,
    certainty=Certainty.MAGIC,
    is_it=_is_it,
    stored_as="trace.sqlite",
    endings=(".sqlite",),
    check=check_is_export,
    read=_read,
    recorded_by=TOOL,
    options=(
        ReadOption(
            "step_range",
            str,
            "NAME",
            "the NVTX ranges that are the steps; digits do not matter, * is anything",
        ),
        ReadOption("process", int, "PID", "which process, where several used a GPU"),
    ),
    options_title="exports of Nsight Systems (docs/nsight_systems.md)",
)
