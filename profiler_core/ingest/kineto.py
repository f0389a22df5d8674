"""Kineto Chrome-trace JSON -> Trace.

Covers the files of torch.profiler's export_chrome_trace, plain or gzipped. Source of the format:
kineto `libkineto/src/output_json.cpp`; ts and dur are decimal microseconds.
Seed reader: correct, not fast; the fast one takes its place behind the same door.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl

from profiler_core.errors import NotATrace
from profiler_core.model import trace as schema
from profiler_core.model.tally import Tally
from profiler_core.model.trace import Trace


def read_kineto(path: Path) -> Trace:
    """Read one trace file (.json or .json.gz)."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    document = json.loads(data, parse_float=str, parse_int=str)
    events = document["traceEvents"] if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise NotATrace(f"{path.name} has no traceEvents list.", remedy="Pass a Kineto trace.")
    return _to_trace(path.name, events, {k: v for k, v in document.items() if k != "traceEvents"})


def _ns(text: Any) -> int | None:
    if text is None:
        return None
    whole, _, fraction = str(text).partition(".")
    return int(whole) * 1000 + int((fraction + "000")[:3] or 0)


def _int(value: Any) -> int | None:
    try:
        return None if value is None else int(value)
    except ValueError:
        return None


def _id(value: Any) -> int | None:
    number = _int(value)
    return number if number is not None and number > 0 else None


def _text(value: Any) -> str | None:
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


_READERS = {
    "correlation": ("correlation", _id),
    "external_id": ("External id", _id),
    "device": ("device", _int),
    "stream": ("stream", _int),
    "bytes": ("bytes", _int),
    "grid": ("grid", _text),
    "block": ("block", _text),
    "registers_per_thread": ("registers per thread", _int),
    "shared_memory_bytes": ("shared memory", _int),
    "occupancy_pct": ("est. achieved occupancy %", lambda v: None if v is None else float(v)),
    "graph_id": ("graph id", _int),
    "graph_node_id": ("graph node id", _int),
    "sequence_number": ("Sequence number", _int),
    "fwd_thread_id": ("Fwd thread id", _int),
    "input_dims": ("Input Dims", _text),
    "input_types": ("Input type", _text),
    "input_strides": ("Input Strides", _text),
    "concrete_inputs": ("Concrete Inputs", _text),
    "kernel_file": ("kernel_file", _text),
    "kernel_hash": ("kernel_hash", _text),
    "kernel_kwargs": ("kernel_kwargs", _text),
    "total_allocated_bytes": ("Total Allocated", _int),
    "total_reserved_bytes": ("Total Reserved", _int),
    "device_type": ("Device Type", _int),
    "device_id": ("Device Id", _int),
    "addr": ("Addr", _int),
    "python_id": ("Python id", _int),
    "python_parent_id": ("Python parent id", _int),
    "python_module_id": ("Python module id", _int),
}


def _table_of(event: dict[str, Any]) -> str | None:
    ph, cat = event.get("ph"), event.get("cat")
    if ph == "X":
        if cat in schema.DEVICE_CATEGORIES:
            return "device"
        if cat in schema.RUNTIME_CATEGORIES:
            return "runtime"
        return {
            "cpu_op": "ops",
            "user_annotation": "annotations",
            "gpu_user_annotation": "gpu_annotations",
            "python_function": "python",
        }.get(str(cat), "other")
    if ph == "i" and event.get("name") == "[memory]":
        return "memory"
    return None


def _to_trace(source: str, events: list[dict[str, Any]], metadata: dict[str, Any]) -> Trace:
    rows: dict[str, list[dict[str, Any]]] = {table: [] for table in schema.TABLE_SCHEMAS}
    for event in events:
        table = _table_of(event)
        if table is None:
            continue
        args = event.get("args") or {}
        row = {}
        for column in schema.TABLE_SCHEMAS[table]:
            if column == "ts_ns":
                row[column] = _ns(event.get("ts"))
            elif column == "dur_ns":
                row[column] = _ns(event.get("dur", 0))
            elif column in ("name", "cat", "ph"):
                row[column] = event.get(column)
            elif column in ("pid", "tid"):
                row[column] = _int(event.get(column))
            elif column == "bytes" and table == "memory":
                row[column] = _int(args.get("Bytes"))
            else:
                key, read = _READERS[column]
                row[column] = read(args.get(key))
        rows[table].append(row)
    origin = min((row["ts_ns"] for table in rows.values() for row in table), default=0)
    frames = {
        table: pl.DataFrame(rows[table], schema=columns)
        .with_columns(pl.col("ts_ns") - origin)
        .sort("ts_ns", maintain_order=True)
        for table, columns in schema.TABLE_SCHEMAS.items()
    }
    base = _int(metadata.get("baseTimeNanoseconds")) or 0
    return Trace(
        source=source,
        origin_ns=origin + base,
        metadata=metadata,
        tally=Tally(n_events=len(events)),
        **frames,
    )
