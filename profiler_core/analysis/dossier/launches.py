"""How a kernel is launched and what its operators are handed, from the trace of one run."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import cast

import polars as pl

from profiler_core.analysis.dossier.generated import by_role
from profiler_core.analysis.dossier.record import Arguments, Launch
from profiler_core.analysis.kernel_calls import KernelCalls
from profiler_core.analysis.ledger.fragments import PointerRole
from profiler_core.analysis.operator_arguments import (
    has_unsized_list,
    inputs_and_results,
    json_list,
    tensor_texts,
)
from profiler_core.analysis.per_name import per_name
from profiler_core.analysis.work import device_work, is_around_graph
from profiler_core.model.trace import Trace


def launch_of(
    label: str, trace: Trace, calls: KernelCalls, n_multiprocessors: int | None = None
) -> Launch | None:
    """Grids, occupancy, registers and shared memory; None where the trace has none of them.

    Kineto's estimate of occupancy is weighted by time; a call for which it could make none (it
    writes 0) does not count.
    """
    rows = kernel_rows(trace, calls.name)
    estimated = rows.filter(pl.col("occupancy_pct") > 0)
    weights = estimated["dur_ns"].to_numpy()
    occupancy = (
        float(estimated["occupancy_pct"].to_numpy() @ weights / weights.sum())
        if weights.any()
        else None
    )
    sizes = [_n_blocks(grid) or 0 for grid in rows["grid"].drop_nulls().unique().to_list()]
    registers = cast("int | None", rows["registers_per_thread"].max())
    shared = cast("int | None", rows["shared_memory_bytes"].max())
    if occupancy is None and registers is None and not calls.grids and not calls.by_launch:
        return None
    return Launch(
        label,
        tuple(calls.grids),
        occupancy,
        registers,
        shared,
        tuple(calls.by_launch),
        max(sizes, default=0) or None,
        n_multiprocessors,
    )


def _n_blocks(grid: str) -> int | None:
    """Blocks of a grid as the trace writes it: "[1568,1,1]"."""
    sizes = [size for size in json_list(grid) if isinstance(size, int)]
    return prod(sizes) if sizes else None


def arguments_of(
    label: str,
    trace: Trace,
    rows: pl.DataFrame,
    n_steps: int,
    roles: Mapping[str, Sequence[PointerRole]] | None = None,
) -> tuple[Arguments, ...]:
    """The operators that start some work of the device, by what they are handed, most calls first.

    The operator is the innermost one around the launch that has shapes; empty where the trace has
    none, as in the replay of a CUDA graph, around which is the whole compiled graph at most.

    Args:
        label: of the run.
        trace: of the run.
        rows: of `device_work`.
        n_steps: profiled steps, which calls are counted per.
        roles: name of a generated kernel -> what it does with each tensor, which it is handed all.
    """
    kinds = (
        _started_from(trace, rows)
        .group_by("name", "input_dims", "input_types", maintain_order=True)
        .agg(n=pl.len())
        .sort("n", descending=True, maintain_order=True)
    )
    told = []
    for operator, dims, types, n in kinds.iter_rows():
        texts, of_kernel = tensor_texts(dims, types), (roles or {}).get(operator, ())
        if of_kernel and len(texts) >= len(of_kernel):
            inputs, outputs = by_role(texts, of_kernel)
        else:
            inputs, outputs = inputs_and_results(operator, dims, types)
        if inputs or outputs:
            told.append(Arguments(label, operator, inputs, outputs, n / max(1, n_steps)))
    return tuple(told)


def takes_lists(trace: Trace, rows: pl.DataFrame) -> bool:
    """Is some work of the device started by an operator that is handed lists of tensors?"""
    dims = _started_from(trace, rows)["input_dims"].unique().to_list()
    shapes = (shape for text in dims for shape in json_list(text))
    return any(isinstance(shape, list) and list in map(type, shape) for shape in shapes)


def takes_unsized_lists(trace: Trace, rows: pl.DataFrame) -> bool:
    """Is some work of the device started by an operator with lists that torch gives no shapes?"""
    kinds = _started_from(trace, rows).select("input_dims", "input_types").unique()
    return any(has_unsized_list(dims, types) for dims, types in kinds.iter_rows())


def _started_from(trace: Trace, rows: pl.DataFrame) -> pl.DataFrame:
    """The innermost operator with shapes around each launch of some rows of `device_work`."""
    external = rows.select("external_id").drop_nulls().unique()
    around = trace.ops.join(external, on="external_id", how="inner").filter(
        pl.col("input_dims").is_not_null()
    )
    return (
        around.filter(~per_name(around["name"], is_around_graph, pl.Boolean))
        .with_columns(pl.col("name").cast(pl.String))
        .unique("external_id", keep="last", maintain_order=True)
    )


def started_by(trace: Trace, operator: str) -> dict[str, int]:
    """Device time of all calls of what an operator starts, by name, ns.

    In profiled steps. A call counts with all that is called inside of it, each launch once.
    """
    work = device_work(trace).filter(
        pl.col("launch_ts_ns").is_not_null(), pl.col("step").is_not_null()
    )
    calls = trace.ops.filter(pl.col("name").cast(pl.String) == operator)
    pieces = []
    for (pid, tid), launched in work.group_by("launch_pid", "launch_tid", maintain_order=True):
        of_thread = calls.filter(pl.col("pid") == pid, pl.col("tid") == tid)
        begins = of_thread["ts_ns"].sort()
        ends = (of_thread["ts_ns"] + of_thread["dur_ns"]).sort()
        at = launched["launch_ts_ns"]
        n_open = begins.search_sorted(at, side="right") - ends.search_sorted(at, side="left")
        pieces.append(launched.filter(n_open > 0))
    started = (
        pl.concat(pieces)
        .with_columns(pl.col("name").cast(pl.String))
        .group_by("name", maintain_order=True)
        .agg(pl.col("dur_ns").sum())
        if pieces
        else pl.DataFrame()
    )
    return dict(started.iter_rows())


def kernel_rows(trace: Trace, name: str) -> pl.DataFrame:
    """Rows of `device_work` of this name in profiled steps, with their `row` in it."""
    work = device_work(trace)
    return work.with_row_index("row").filter(
        pl.col("step").is_not_null(),
        per_name(work["name"], lambda of_row: of_row == name, pl.Boolean),
    )


def event_of_work(trace: Trace, row: int) -> tuple[str, int] | None:
    """(table, row) in the trace of a row of `device_work`; None: it cannot be told.

    With a device a row of the work is the device's; on the CPU it is an operator.
    """
    if trace.has_device_events:
        return "device", row
    event = device_work(trace).row(row, named=True)
    matches = trace.ops.with_row_index("row").filter(
        pl.col("ts_ns") == event["ts_ns"],
        pl.col("dur_ns") == event["dur_ns"],
        pl.col("name").cast(pl.String) == event["name"],
    )
    return ("ops", int(matches["row"][0])) if matches.height else None
