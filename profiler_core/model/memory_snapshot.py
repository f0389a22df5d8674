"""A memory snapshot of torch.cuda.memory as columnar tables; declared here and nowhere else.

Source of the format: torch/csrc/cuda/memory_snapshot.cpp and c10/cuda/CUDACachingAllocator.h, torch
2.1 to 2.15. Addresses are the allocator's; sizes are rounded up by it, requested_bytes are what was
asked for. Times are epoch ns (the file has microseconds). Keys that a version lacks are null.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

EVENT_SCHEMA: dict[str, pl.DataType] = {
    "device": pl.Int32(),
    "time_ns": pl.Int64(),  # null before torch 2.2
    "action": pl.String(),  # alloc, free_requested, free_completed, segment_alloc, oom, …
    "address": pl.UInt64(),
    "bytes": pl.Int64(),
    "stream": pl.UInt64(),
    "stack": pl.Int32(),  # row of `stacks`; null without frames
    "compile_context": pl.String(),  # torch >= 2.8: the compile id; null where it is N/A
}
SEGMENT_SCHEMA: dict[str, pl.DataType] = {
    "segment": pl.Int32(),
    "device": pl.Int32(),
    "address": pl.UInt64(),
    "total_bytes": pl.Int64(),
    "allocated_bytes": pl.Int64(),
    "active_bytes": pl.Int64(),  # allocated, and freed but waiting for another stream
    "requested_bytes": pl.Int64(),
    "stream": pl.UInt64(),
    "kind": pl.String(),  # small or large
    "pool": pl.String(),  # "0.0" is the default pool; null before torch 2.2
    "is_expandable": pl.Boolean(),
}
BLOCK_SCHEMA: dict[str, pl.DataType] = {
    "segment": pl.Int32(),
    "address": pl.UInt64(),
    "bytes": pl.Int64(),
    "requested_bytes": pl.Int64(),
    "state": pl.String(),  # active_allocated, active_pending_free, active_awaiting_free, inactive
    "stack": pl.Int32(),
}
STACK_SCHEMA: dict[str, pl.DataType] = {  # frames of each distinct stack, the innermost first
    "stack": pl.Int32(),
    "depth": pl.Int32(),
    "function": pl.String(),
    "file": pl.String(),  # as written; never opened. "" for C++
    "line": pl.Int32(),
}
ANNOTATION_SCHEMA: dict[str, pl.DataType] = {
    "time_ns": pl.Int64(),
    "stage": pl.String(),  # START or END
    "name": pl.String(),
    "device": pl.Int32(),
}
SNAPSHOT_SCHEMAS: dict[str, dict[str, pl.DataType]] = {
    "events": EVENT_SCHEMA,
    "segments": SEGMENT_SCHEMA,
    "blocks": BLOCK_SCHEMA,
    "stacks": STACK_SCHEMA,
    "annotations": ANNOTATION_SCHEMA,
}

DEFAULT_POOL = "0.0"
LIVE_STATES = ("active_allocated", "active_pending_free", "active_awaiting_free")


@dataclass(frozen=True)
class MemorySnapshot:
    """One snapshot. Frames are shared between sessions: nobody writes to them.

    `events` are in the order in which they happened, per device; they may begin anywhere, since
    the history is a ring buffer and is only as old as the recording.
    """

    source: str  # what to call it in a message
    events: pl.DataFrame
    segments: pl.DataFrame
    blocks: pl.DataFrame
    stacks: pl.DataFrame
    annotations: pl.DataFrame
    settings: Mapping[str, Any] = field(default_factory=dict)  # allocator_settings, plain values
