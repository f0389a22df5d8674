"""Calls of the runtime and the driver, synchronisations and the profiler's own overhead."""

from collections.abc import Iterator

import polars as pl

from profiler_core.ingest.nsight_systems.database import Database, Field, integer
from profiler_core.ingest.nsight_systems.processes import Process, of_process, of_threads
from profiler_core.ingest.nsight_systems.strings import Strings
from profiler_core.ingest.nsight_systems.wide import wide

CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"  # the driver's too
_SYNCHRONISATIONS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
_OVERHEADS = ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD")

# CUpti_ActivitySynchronizationType, in Kineto's words (libkineto src/CuptiActivity.cpp).
_SYNCHRONISATION = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
_NO_STREAM = (1 << 32) - 1

# The version of the interface that the call was compiled against: cudaLaunchKernel_v7000 is what
# Kineto calls cudaLaunchKernel. The driver's own _v2 is part of the name.
_VERSION = r"_v\d{4,6}$"

_THREAD_BITS = 24

_RANGE: dict[str, Field] = {"start": integer("start"), "end": integer("end")}
_CALL = _RANGE | {
    "correlation": integer("correlationId"),
    "thread": integer("globalTid"),
    "name_id": integer("nameId"),
}


def calls(database: Database, strings: Strings, process: Process | None) -> Iterator[pl.DataFrame]:
    """Rows with ts_ns, dur_ns, cat, name, pid, tid, correlation; not wide yet."""
    for frame in database.frames(CALLS, _CALL, _threads(database, CALLS, process)):
        named = frame.with_columns(name=strings.of(frame["name_id"]).str.replace(_VERSION, ""))
        is_runtime = pl.col("name").str.starts_with("cuda").fill_null(True)
        yield named.select(
            **_times(),
            cat=pl.when(is_runtime).then(pl.lit("cuda_runtime")).otherwise(pl.lit("cuda_driver")),
            name=pl.col("name"),
            **thread(),
            correlation=pl.col("correlation"),
        )


def other_events(
    database: Database, strings: Strings, process: Process | None
) -> Iterator[pl.DataFrame]:
    """Wide rows of synchronisations, on the stream that waits, and of overhead."""
    fields = _RANGE | {
        "kind": integer("syncType"),
        "device": integer("deviceId"),
        "stream": integer("streamId"),
        "correlation": integer("correlationId"),
    }
    where = of_process(process) if database.has(_SYNCHRONISATIONS, "globalPid") else ""
    for frame in database.frames(_SYNCHRONISATIONS, fields, where):
        kind = pl.col("kind").replace_strict(_SYNCHRONISATION, default="Synchronisation")
        waits = pl.when(pl.col("stream") != _NO_STREAM).then("stream")
        yield wide(
            frame.select(
                **_times(), cat=pl.lit("cuda_sync"), name=kind, pid="device", tid=waits,
                correlation="correlation",
            )
        )  # fmt: skip
    for table in _OVERHEADS:
        fields = _RANGE | {"thread": integer("globalTid"), "name_id": integer("nameId")}
        for frame in database.frames(table, fields, _threads(database, table, process)):
            named = frame.with_columns(name=strings.of(frame["name_id"]))
            yield wide(named.select("name", **_times(), cat=pl.lit("overhead"), **thread()))


def thread() -> dict[str, pl.Expr]:
    """Process and thread out of a column `thread` with the globalTid."""
    low = (1 << _THREAD_BITS) - 1
    return {
        "pid": (pl.col("thread") // (1 << _THREAD_BITS)) & low,
        "tid": pl.col("thread") & low,
    }


def _times() -> dict[str, pl.Expr]:
    return {"ts_ns": pl.col("start"), "dur_ns": pl.col("end") - pl.col("start")}


def _threads(database: Database, table: str, process: Process | None) -> str:
    return of_threads(process) if database.has(table, "globalTid") else ""
