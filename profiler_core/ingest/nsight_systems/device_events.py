"""Kernels, copies, memsets and whole graph replays -> wide rows.

Names are written as Kineto writes them, so that the same rules read both: libkineto
`src/CuptiActivity.cpp` for copies and memsets.
"""

from collections.abc import Iterator

import polars as pl

from profiler_core.ingest.nsight_systems.database import Database, Field, integer, triple
from profiler_core.ingest.nsight_systems.processes import Process, of_process
from profiler_core.ingest.nsight_systems.strings import Strings
from profiler_core.ingest.nsight_systems.wide import wide
from profiler_core.model.trace import KERNEL, MEMCPY, MEMSET

KERNELS, COPIES = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSETS, GRAPHS = "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

# CUpti_ActivityMemcpyKind; 11 to 13 are pages that unified memory moved by itself.
_COPY = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    5: "AtoA",
    6: "AtoD",
    7: "DtoA",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
    11: "HtoD (Unified)",
    12: "DtoH (Unified)",
    13: "DtoD (Unified)",
}
# ENUM_CUDA_MEM_KIND of the export, which counts otherwise than CUPTI does.
_MEMORY = {
    0: "Pageable",
    1: "Pinned",
    2: "Device",
    3: "Array",
    4: "Managed",
    5: "Device Static",
    6: "Managed Static",
}

_ANY: dict[str, Field] = {
    "start": integer("start"),
    "end": integer("end"),
    "device": integer("deviceId"),
    "stream": integer("streamId"),
    "correlation": integer("correlationId"),
    "pid": integer("globalPid"),
    "graph_node_id": integer("graphNodeId"),
    "graph_id": integer("graphId"),
}


def device_events(
    database: Database, strings: Strings, process: Process | None
) -> Iterator[pl.DataFrame]:
    """Wide rows of all device events of a process; names that are missing are null."""
    yield from _kernels(database, strings, process)
    yield from _copies(database, process)
    yield from _memsets(database, process)
    yield from _graphs(database, process)


def _kernels(
    database: Database, strings: Strings, process: Process | None
) -> Iterator[pl.DataFrame]:
    fields = _ANY | {
        "full": integer("demangledName"),
        "short": integer("shortName"),
        "registers_per_thread": integer("registersPerThread"),
        "static": integer("staticSharedMemory"),
        "dynamic": integer("dynamicSharedMemory"),
        "grid": triple("gridX", "gridY", "gridZ"),
        "block": triple("blockX", "blockY", "blockZ"),
    }
    for frame in _rows(database, KERNELS, fields, process):
        full, short = strings.of(frame["full"]), strings.of(frame["short"])
        named = frame.with_columns(
            name=pl.select(pl.coalesce(full, short)).to_series(),
            cat=pl.lit(KERNEL),
            shared_memory_bytes=pl.col("static") + pl.col("dynamic").fill_null(0),
        )
        yield wide(named)


def _copies(database: Database, process: Process | None) -> Iterator[pl.DataFrame]:
    fields = _ANY | {
        "bytes": integer("bytes"),
        "kind": integer("copyKind"),
        "source": integer("srcKind"),
        "target": integer("dstKind"),
    }
    for frame in _rows(database, COPIES, fields, process):
        direction = pl.col("kind").replace_strict(_COPY, default="<unknown>")
        between = [
            pl.col(column).replace_strict(_MEMORY, default=None, return_dtype=pl.String)
            for column in ("source", "target")
        ]
        name = pl.format("Memcpy {} ({} -> {})", direction, *between)
        named = frame.with_columns(
            name=pl.coalesce(name, pl.format("Memcpy {}", direction)), cat=pl.lit(MEMCPY)
        )
        yield wide(named)


def _memsets(database: Database, process: Process | None) -> Iterator[pl.DataFrame]:
    fields = _ANY | {"bytes": integer("bytes"), "kind": integer("memKind")}
    for frame in _rows(database, MEMSETS, fields, process):
        kind = pl.col("kind").replace_strict(_MEMORY, default="Unknown", return_dtype=pl.String)
        yield wide(frame.with_columns(name=pl.format("Memset ({})", kind), cat=pl.lit(MEMSET)))


def _graphs(database: Database, process: Process | None) -> Iterator[pl.DataFrame]:
    """A replay as one event: recorded with --cuda-graph-trace=graph, its kernels are not there."""
    for frame in _rows(database, GRAPHS, _ANY, process):
        name = pl.format("CUDA graph {}", pl.col("graph_id").cast(pl.String).fill_null("?"))
        yield wide(frame.with_columns(name=name, cat=pl.lit(KERNEL)))


def _rows(
    database: Database, table: str, fields: dict[str, Field], process: Process | None
) -> Iterator[pl.DataFrame]:
    where = of_process(process) if database.has(table, "globalPid") else ""
    for frame in database.frames(table, fields, where):
        yield frame.with_columns(
            ts_ns=pl.col("start"),
            dur_ns=pl.col("end") - pl.col("start"),
        )
