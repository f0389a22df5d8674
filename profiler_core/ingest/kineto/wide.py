"""The fields of an event that are read, under their names in the model.

One wide row an event, whatever its category; `kineto_tables` deals the rows out to the tables.
Two modules fill it: `decode` fast, `repair` where the text needs mending.
"""

from dataclasses import dataclass
from typing import Literal

import polars as pl

Kind = Literal["integer", "unsigned", "number", "text"]


@dataclass(frozen=True)
class Argument:
    """One key of an event's `args`."""

    column: str  # as the model calls it
    key: str  # as the file calls it
    kind: Kind


# Kineto: libkineto/src/output_json.cpp, torch/csrc/profiler/kineto_shim.cpp and
# torch/csrc/autograd/profiler_kineto.cpp.
ARGUMENTS = (
    Argument("correlation", "correlation", "integer"),
    Argument("external_id", "External id", "integer"),
    Argument("device", "device", "integer"),
    Argument("stream", "stream", "integer"),
    Argument("bytes", "bytes", "integer"),
    Argument("grid", "grid", "text"),
    Argument("block", "block", "text"),
    Argument("registers_per_thread", "registers per thread", "integer"),
    Argument("shared_memory_bytes", "shared memory", "integer"),
    Argument("occupancy_pct", "est. achieved occupancy %", "number"),
    Argument("graph_id", "graph id", "integer"),
    Argument("graph_node_id", "graph node id", "integer"),
    # torch/profiler/_chrome_trace_export.py and torch/_inductor/profiler.py, both since torch 2.15.
    Argument("annotation", "name", "text"),
    Argument("stacks", "stack", "text"),
    Argument("sequence_number", "Sequence number", "integer"),
    Argument("fwd_thread_id", "Fwd thread id", "integer"),
    Argument("input_dims", "Input Dims", "text"),
    Argument("input_types", "Input type", "text"),
    Argument("input_strides", "Input Strides", "text"),
    Argument("concrete_inputs", "Concrete Inputs", "text"),
    Argument("kernel", "kernel", "text"),  # of a launch on ROCm: roctracer's and rocprofiler's
    Argument("kernel_file", "kernel_file", "text"),
    Argument("kernel_hash", "kernel_hash", "text"),
    Argument("kernel_kwargs", "kernel_kwargs", "text"),
    Argument("memory_bytes", "Bytes", "integer"),
    Argument("total_allocated_bytes", "Total Allocated", "integer"),
    Argument("total_reserved_bytes", "Total Reserved", "integer"),
    Argument("device_type", "Device Type", "integer"),
    Argument("device_id", "Device Id", "integer"),
    Argument("addr", "Addr", "unsigned"),
    Argument("python_id", "Python id", "integer"),
    Argument("python_parent_id", "Python parent id", "integer"),
    Argument("python_module_id", "Python module id", "integer"),
    # torch/csrc/distributed/c10d/ParamCommsUtils.hpp; in traces since torch 2.1.
    Argument("collective", "Collective name", "text"),
    Argument("dtype", "dtype", "text"),
    Argument("in_elements", "In msg nelems", "integer"),
    Argument("out_elements", "Out msg nelems", "integer"),
    Argument("group_size", "Group size", "integer"),
    Argument("group_name", "Process Group Name", "text"),
    Argument("group_ranks", "Process Group Ranks", "text"),
    Argument("to_rank", "Dst Rank", "integer"),
    Argument("from_rank", "Src Rank", "integer"),
    # Read only to count the inf and nan that old Kineto wrote here (kineto#105).
    Argument("bandwidth", "memory bandwidth (GB/s)", "number"),
)

_DTYPES: dict[Kind, pl.DataType] = {
    "integer": pl.Int64(),
    "unsigned": pl.UInt64(),
    "number": pl.Float64(),
    "text": pl.String(),
}

WIDE_SCHEMA: dict[str, pl.DataType] = {
    "ph": pl.String(),
    "cat": pl.String(),
    "name": pl.String(),
    "pid": pl.Int64(),
    "tid": pl.Int64(),
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "has_ts": pl.Boolean(),  # the key is there, whatever its value
    "has_dur": pl.Boolean(),
    **{argument.column: _DTYPES[argument.kind] for argument in ARGUMENTS},
}
