"""The same recording as both tools would write it: a Kineto trace as an export of nsys."""

import re
from pathlib import Path

import polars as pl

from profiler_core.model.trace import KERNEL, MEMSET, Trace
from tests.ingest.nsight_systems.build import PID, Export, Value, global_id

_COPY = {"HtoD": (1, 1, 2), "DtoH": (2, 2, 1), "DtoD": (8, 2, 2)}


def export_of(trace: Trace, path: Path) -> Path:
    """Device events, calls, annotations and operators; what `emit_nvtx` adds to names included."""
    export = Export("2026.2.1")
    for row in trace.device.iter_rows(named=True):
        _add_device(export, row)
    for row in trace.runtime.iter_rows(named=True):
        export.add(
            "CUPTI_ACTIVITY_KIND_RUNTIME", start=row["ts_ns"], end=row["ts_ns"] + row["dur_ns"],
            globalTid=_thread(row["tid"]), correlationId=row["correlation"],
            nameId=export.string(f"{row['name']}_v7000"), eventClass=0, returnValue=0,
        )  # fmt: skip
    for row in trace.annotations.iter_rows(named=True):
        name = re.sub(r"ProfilerStep#(\d+)", r"train step \1", row["name"])
        _push(export, row, name)
    operators = trace.ops.filter(pl.col("name").cast(pl.String) != "record_param_comms")
    for number, row in enumerate(operators.iter_rows(named=True), start=1):
        parts = [row["name"]]
        if (row["sequence_number"] or -1) >= 0:
            parts.append(f"seq = {row['sequence_number']}")
        parts.append(f"op_id = {number}")
        if row["input_dims"]:
            parts.append(f"sizes = {row['input_dims'].replace(',', ', ')}")
        _push(export, row, ", ".join(parts))
    return export.write(path)


def _add_device(export: Export, row: dict[str, Value]) -> None:
    start, dur, correlation = row["ts_ns"], row["dur_ns"], row["correlation"] or 0
    place = {"deviceId": row["device"], "streamId": row["stream"]}
    if row["cat"] == KERNEL:
        sizes = {
            f"{what}{axis}": int(size)
            for what in ("grid", "block")
            for axis, size in zip("XYZ", re.findall(r"\d+", str(row[what])), strict=True)
        }
        name = export.string(str(row["name"]))
        export.kernel(start, dur, "", correlation, **place)
        export.last("CUPTI_ACTIVITY_KIND_KERNEL").update(
            sizes, demangledName=name, shortName=name, dynamicSharedMemory=0,
            registersPerThread=row["registers_per_thread"],
            staticSharedMemory=row["shared_memory_bytes"], graphNodeId=row["graph_node_id"],
        )  # fmt: skip
    elif row["cat"] == MEMSET:
        export.memset(start, dur, row["bytes"], correlation, **place)
    else:
        direction = re.search(r"(HtoD|DtoH|DtoD)", str(row["name"]))
        assert direction
        kind, source, target = _COPY[direction[1]]
        kinds = {"copyKind": kind, "srcKind": source, "dstKind": target}
        export.memcpy(start, dur, row["bytes"], correlation, **place, **kinds)


def _push(export: Export, row: dict[str, Value], text: str) -> None:
    start = row["ts_ns"]
    export.push(start, start + row["dur_ns"], text, int(row["tid"]) % (1 << 24))


def _thread(tid: int) -> int:
    return global_id(PID, tid % (1 << 24))
