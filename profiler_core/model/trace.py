"""A Kineto trace as columnar tables; columns, dtypes and units are declared here and nowhere else.

Sources of the format: torch/profiler, kineto `output_json.cpp`. Times are integer ns from
`Trace.origin_ns`, which is on the clock of the file (`baseTimeNanoseconds` is added where the
file has it, so origin_ns is epoch ns for torch >= 2.4). Ids that are <= 0 or missing are null:
nothing is ever joined on them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

import polars as pl

from profiler_core.model.tally import Tally

# `cat` of the device tables; a device event is told by its category alone, never by `stream`:
# Inductor's triton cpu_ops carry a `stream` argument too.
KERNEL, MEMCPY, MEMSET = "kernel", "gpu_memcpy", "gpu_memset"
DEVICE_CATEGORIES = (KERNEL, MEMCPY, MEMSET)

# Names under which files have what has another name in the tables. CUPTI does not tell the memory
# of the memsets that a CUDA graph replays: outside of a graph the same calls are on the device.
ONE_NAME = {"Memset (Unknown)": "Memset (Device)"}

# Categories of calls into a driver or runtime that may start device work.
RUNTIME_CATEGORIES = (
    "cuda_runtime",
    "cuda_driver",
    "hip_runtime",
    "hip_driver",
    "xpu_runtime",
    "xpu_driver",
    "mtia_runtime",
    "privateuse1_runtime",
    "privateuse1_driver",
)

TEXT = pl.String  # names repeat: cached on disk dictionary-encoded, see ingest

DEVICE_SCHEMA: dict[str, pl.DataType] = {
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "cat": pl.Categorical(),  # one of DEVICE_CATEGORIES
    "name": pl.Categorical(),
    "device": pl.Int32(),
    "stream": pl.Int64(),
    "correlation": pl.Int64(),
    "external_id": pl.Int64(),
    "bytes": pl.Int64(),  # memcpy and memset only
    "grid": pl.String(),  # "[1568,1,1]"
    "block": pl.String(),
    "registers_per_thread": pl.Int32(),
    "shared_memory_bytes": pl.Int64(),
    "occupancy_pct": pl.Float64(),  # Kineto's estimate
    "graph_id": pl.Int64(),  # CUDA graph, where the file says it
    "graph_node_id": pl.Int64(),
    "annotation": pl.String(),  # of the graph's node, torch >= 2.15: mark_kernels
    "stacks": pl.String(),  # JSON text: printed stacks of the source, TORCH_COMPILE_DEBUG_EXTEND
}
RUNTIME_SCHEMA: dict[str, pl.DataType] = {
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "cat": pl.Categorical(),
    "name": pl.Categorical(),
    "pid": pl.Int64(),
    "tid": pl.Int64(),
    "correlation": pl.Int64(),
    "external_id": pl.Int64(),
    "kernel": pl.String(),  # what a launch starts, where the call says it (ROCm)
}
OPS_SCHEMA: dict[str, pl.DataType] = {
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "name": pl.Categorical(),
    "pid": pl.Int64(),
    "tid": pl.Int64(),
    "external_id": pl.Int64(),
    "sequence_number": pl.Int64(),
    "fwd_thread_id": pl.Int64(),
    "input_dims": pl.String(),  # JSON text as in the file
    "input_types": pl.String(),
    "input_strides": pl.String(),
    "concrete_inputs": pl.String(),
    "kernel_file": pl.String(),  # Inductor's Triton ops, torch >= 2.5
    "kernel_hash": pl.String(),
    "kernel_kwargs": pl.String(),
    "stream": pl.Int64(),  # Triton ops: the stream they launch on; says nothing about device work
    "python_id": pl.Int64(),
}
ANNOTATION_SCHEMA: dict[str, pl.DataType] = {
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "name": pl.Categorical(),
    "pid": pl.Int64(),
    "tid": pl.Int64(),
    "external_id": pl.Int64(),
}
GPU_ANNOTATION_SCHEMA: dict[str, pl.DataType] = {
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "name": pl.Categorical(),
    "device": pl.Int32(),
    "stream": pl.Int64(),
    "external_id": pl.Int64(),
}
MEMORY_SCHEMA: dict[str, pl.DataType] = {
    "ts_ns": pl.Int64(),
    "bytes": pl.Int64(),  # positive: allocated, negative: freed
    "total_allocated_bytes": pl.Int64(),
    "total_reserved_bytes": pl.Int64(),
    "device_type": pl.Int32(),  # 0 CPU, 1 CUDA (c10::DeviceType)
    "device_id": pl.Int32(),
    "addr": pl.UInt64(),
    "tid": pl.Int64(),
}
PYTHON_SCHEMA: dict[str, pl.DataType] = {
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "name": pl.Categorical(),
    "pid": pl.Int64(),
    "tid": pl.Int64(),
    "python_id": pl.Int64(),
    "python_parent_id": pl.Int64(),
    "python_module_id": pl.Int64(),
}
COLLECTIVE_SCHEMA: dict[str, pl.DataType] = {
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "pid": pl.Int64(),
    "tid": pl.Int64(),
    "collective": pl.String(),  # "allreduce", as torch calls it
    "dtype": pl.String(),  # "Float"
    "in_elements": pl.Int64(),
    "out_elements": pl.Int64(),
    "group_size": pl.Int64(),
    "group_name": pl.String(),
    "group_ranks": pl.String(),  # JSON text; may be cut short by torch
    "to_rank": pl.Int64(),  # of a send: its place in the group; null: no send
    "from_rank": pl.Int64(),  # of a receive, likewise
}
COUNTER_SCHEMA: dict[str, pl.DataType] = {
    "ts_ns": pl.Int64(),
    "device": pl.Int32(),
    "name": pl.Categorical(),  # of the metric, as the file writes it
    "value": pl.Float64(),
}
OTHER_SCHEMA: dict[str, pl.DataType] = {  # overhead, cuda_sync, Trace, anything unknown
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "ph": pl.Categorical(),
    "cat": pl.Categorical(),
    "name": pl.Categorical(),
    "pid": pl.Int64(),
    "tid": pl.Int64(),
    "correlation": pl.Int64(),
}

TABLE_SCHEMAS: dict[str, dict[str, pl.DataType]] = {
    "device": DEVICE_SCHEMA,
    "runtime": RUNTIME_SCHEMA,
    "ops": OPS_SCHEMA,
    "annotations": ANNOTATION_SCHEMA,
    "gpu_annotations": GPU_ANNOTATION_SCHEMA,
    "memory": MEMORY_SCHEMA,
    "python": PYTHON_SCHEMA,
    "collectives": COLLECTIVE_SCHEMA,
    "counters": COUNTER_SCHEMA,
    "other": OTHER_SCHEMA,
}
# Keys of the metadata that ingest writes beside Kineto's own. RECORDED_BY: the name of the tool.
# RECORDING: what the reader of another tool's files says of the recording, each key optional:
# version, steps (the label of the ranges that are the steps), ranges (label -> how often), process,
# other_processes, missing (sentences).
RECORDED_BY, RECORDING = "fusionscopeRecordedBy", "fusionscopeRecording"

# The calls of torch.distributed: rows of `ops` again, with what only these carry.
COLLECTIVE_NAME = "record_param_comms"


def one_name(name: str) -> str:
    """What a device event that a file calls so is called in the tables."""
    return ONE_NAME.get(name, name)


def other_names(name: str) -> tuple[str, ...]:
    """How else files call device events of this name."""
    return tuple(other for other, one in ONE_NAME.items() if one == name)


class Derived(Protocol):
    """A table that is made of a trace: a data frame, or arrays that know their size."""

    def estimated_size(self) -> int | float:
        """About how many bytes it holds."""


Table = TypeVar("Table", bound=Derived)


@dataclass(frozen=True)
class Trace:
    """One trace, from any tool.

    Every table is sorted by ts_ns (ties keep the order of the file). The frames are shared between
    sessions: nobody writes to them.
    """

    source: str  # what to call it in a message: the file's name
    origin_ns: int  # the file's clock at ts_ns == 0
    device: pl.DataFrame  # kernels, memcpy, memset
    runtime: pl.DataFrame  # calls into a runtime or driver
    ops: pl.DataFrame  # cpu_op
    annotations: pl.DataFrame  # user_annotation: ProfilerStep#…, ## Call CompiledFxGraph …
    gpu_annotations: pl.DataFrame  # their shadows on the device; never kernels
    memory: pl.DataFrame  # [memory] instants
    python: pl.DataFrame  # python_function
    collectives: pl.DataFrame  # the COLLECTIVE_NAME rows of ops, with what each moves
    counters: pl.DataFrame  # samples of performance metrics, torch >= 2.15
    other: pl.DataFrame
    metadata: Mapping[str, Any] = field(default_factory=dict)  # top-level keys but traceEvents
    tally: Tally = field(default_factory=Tally)
    graph_captures: "tuple[Trace, ...]" = ()  # recorded while graphs that it replays were captured
    # Of this object alone: `replace` makes a trace that has derived nothing yet.
    _derived: dict[str, "Derived"] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def derived(self, name: str, make: Callable[["Trace"], Table]) -> Table:
        """A table that several analyses need, made once and kept until `forget_derived`.

        Args:
            name: of the table.
            make: computes it from the trace alone; what it gives does not hold the trace.
        """
        table = self._derived.get(name)
        if table is None:
            # Two threads may both make it: the tables are equal.
            table = self._derived[name] = make(self)
        return cast("Table", table)

    def forget_derived(self) -> None:
        """Give the derived tables back: who asks again has them made again."""
        self._derived.clear()

    @property
    def derived_bytes(self) -> int:
        """About how much memory the derived tables hold; columns shared with others count."""
        return sum(int(table.estimated_size()) for table in tuple(self._derived.values()))

    @property
    def n_events(self) -> int:
        """Events in the tables."""
        return sum(getattr(self, name).height for name in TABLE_SCHEMAS if name != "collectives")

    @property
    def has_device_events(self) -> bool:
        """False for a trace of a machine without an accelerator."""
        return self.device.height > 0
