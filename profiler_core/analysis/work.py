"""Device work with the call that launched each piece and the step that it belongs to (6.1, 6.2).

A device event is told by its category alone and joined to its launch by `correlation`, whatever
the launch is called; one graph launch has many events. On a trace of a machine without a GPU the
work is the outermost operators below the wrappers of compiled regions, in the same columns.
"""

import re

import polars as pl

from profiler_core.model.trace import DEVICE_SCHEMA, KERNEL, Trace

LAUNCH_COLUMNS = {
    "launch_row": pl.UInt32(),  # row of trace.runtime
    "launch_ts_ns": pl.Int64(),
    "launch_dur_ns": pl.Int64(),
    "launch_name": pl.Categorical(),
    "launch_pid": pl.Int64(),
    "launch_tid": pl.Int64(),
}

_STEP = "ProfilerStep#"

# Ranges that torch.compile and autograd put around operators: what runs inside is the work.
# torch 2.1 to 2.15: torch/_dynamo/eval_frame.py, functorch/_aot_autograd/runtime_wrappers.py,
# torch/csrc/autograd/engine.cpp (evaluate_function) and the names of its nodes.
_AROUND_GRAPH = re.compile(
    r"Torch-Compiled Region|## Call CompiledFxGraph|TorchDynamo Cache Lookup|Pregraph bytecode"
    r"|AOTDispatcher Runtime Wrapper|CompiledFunction(Backward)?$|CompiledFxGraph"
)
_WRAPPER = re.compile(
    _AROUND_GRAPH.pattern
    + r"|autograd::engine::evaluate_function|torch::autograd::|\w+Backward\d*$"
)

# What torch.compile does while it compiles, by the names that dynamo_timed gives it (torch 2.1 to
# 2.15: torch/_dynamo/utils.py): operators run there too, on tensors without contents.
_COMPILING = " (dynamo_timed)"

# Inductor's generated code calls these between its kernels up to torch 2.2; later versions call
# functions that leave no event. They make or describe memory, and work on nothing.
_ALLOCATIONS = ("aten::empty_strided", "inductor::_reinterpret_tensor")


def device_work(trace: Trace) -> pl.DataFrame:
    """Every device event of the trace, in order of ts_ns.

    Returns:
        The columns of DEVICE_SCHEMA, LAUNCH_COLUMNS (null: the launch is not in the trace), and
        step: 0-based number of the step that launched it, 0 in a trace without steps, null for
        events that count in no total (left over from before, or launched after).
    """
    return trace.derived("device work", _device_work)


def _device_work(trace: Trace) -> pl.DataFrame:
    if not trace.has_device_events:
        work = outermost_operators(trace).filter(
            ~pl.col("name").cast(pl.String).is_in(_ALLOCATIONS)
        )
        return _assign_steps(work, host_steps(trace))
    return _assign_steps(_with_launches(trace), host_steps(trace))


def host_steps(trace: Trace) -> pl.DataFrame:
    """The whole ProfilerStep ranges in order of time: step (0, 1, …), name, ts_ns, end_ns."""
    return trace.derived("host steps", _host_steps)


def _host_steps(trace: Trace) -> pl.DataFrame:
    return (
        trace.annotations.select(
            pl.col("name").cast(pl.String), "ts_ns", end_ns=pl.col("ts_ns") + pl.col("dur_ns")
        )
        # A range without length was cut by the end of the recording.
        .filter(pl.col("name").str.starts_with(_STEP), pl.col("end_ns") > pl.col("ts_ns"))
        .unique("name", keep="first", maintain_order=True)
        .sort("ts_ns", maintain_order=True)
        .with_row_index("step")
        .with_columns(pl.col("step").cast(pl.Int32))
    )


def launched_after(work: pl.DataFrame, steps: pl.DataFrame) -> pl.Series:
    """Of each row of the work: is it in no step because it was launched after the last one?

    What is in no step and not this is left over from before the steps. An event without a launch
    is what the event before it in its stream is, as for its step.

    Args:
        work: of `device_work`.
        steps: of `host_steps`; without any, no row was launched after them.
    """
    if steps.height == 0:
        return pl.repeat(value=False, n=work.height, dtype=pl.Boolean, eager=True).alias("after")
    launched = pl.col(_moment(work)).forward_fill().over("device", "stream")
    is_after = (launched > steps["end_ns"].max()).fill_null(value=False)
    return work.select(after=pl.col("step").is_null() & is_after)["after"]


def n_ahead_of_launches(work: pl.DataFrame) -> int:
    """How many device events begin ahead of the first one with a launch; 0 where none has one.

    They had been launched before the trace began, for a trace whose launches are recorded has none
    for them. What lacks a launch behind that event is not known to be old.

    Args:
        work: device events in order of ts_ns, with launch_ts_ns.
    """
    return int(work["launch_ts_ns"].is_not_null().arg_max() or 0)


def _moment(work: pl.DataFrame) -> str:
    """The column that says which step work is in: where nothing is linked, its own start."""
    is_linked = work["launch_ts_ns"].null_count() < work.height
    return "launch_ts_ns" if is_linked else "ts_ns"


def is_wrapper(operator: str) -> bool:
    """Is this host range put around operators by torch.compile or autograd?"""
    return _WRAPPER.match(operator) is not None


def is_around_graph(operator: str) -> bool:
    """Is it put around a whole compiled graph, so that its arguments are no single kernel's?"""
    return _AROUND_GRAPH.match(operator) is not None


def _with_launches(trace: Trace) -> pl.DataFrame:
    calls = (
        trace.runtime.with_row_index("launch_row")
        .filter(pl.col("correlation").is_not_null())
        .select(
            "correlation",
            "launch_row",
            launch_ts_ns="ts_ns",
            launch_dur_ns="dur_ns",
            launch_name="name",
            launch_pid="pid",
            launch_tid="tid",
        )
    )
    joined = trace.device.join(calls, on="correlation", how="left", maintain_order="left")
    if joined.height > trace.device.height:
        # A runtime call and the driver call inside it may share an id: the outer one is first.
        calls = calls.unique("correlation", keep="first", maintain_order=True)
        joined = trace.device.join(calls, on="correlation", how="left", maintain_order="left")
    return joined


def outermost_operators(trace: Trace) -> pl.DataFrame:
    """Outermost operators below the wrappers, each as a kernel on the "stream" of its thread."""
    names = trace.ops.select(pl.col("name").unique())
    wrappers = [is_wrapper(name) for name in names["name"].cast(pl.String)]
    inner = trace.ops.join(
        names.filter(pl.Series(wrappers, dtype=pl.Boolean)), on="name", how="anti"
    )
    outermost = (
        inner.with_columns(end=pl.col("ts_ns") + pl.col("dur_ns"))
        .sort("pid", "tid", "ts_ns", "end", descending=[False, False, False, True])
        .filter(
            (pl.col("ts_ns") >= pl.col("end").cum_max().shift(1).over("pid", "tid")).fill_null(True)
        )
        .sort("ts_ns", maintain_order=True)
    )
    work = _without_compiling(outermost, trace.ops).select(
        "ts_ns",
        "dur_ns",
        pl.lit(KERNEL).cast(pl.Categorical()).alias("cat"),
        "name",
        pl.lit(0, pl.Int32()).alias("device"),
        pl.col("tid").alias("stream"),
        "external_id",
    )
    missing = {**DEVICE_SCHEMA, **LAUNCH_COLUMNS}
    return work.select(
        pl.col(column) if column in work.columns else pl.lit(None, dtype).alias(column)
        for column, dtype in missing.items()
    )


def _without_compiling(outermost: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """The outermost operators of each thread that are no compilation, and hold none.

    Args:
        outermost: with pid, tid, ts_ns and end.
        ops: all ranges of the host.
    """
    names = ops.select(pl.col("name").unique())
    compiling = names.filter(pl.col("name").cast(pl.String).str.ends_with(_COMPILING))
    if compiling.height == 0:
        return outermost
    within = ops.join(compiling, on="name", how="semi").select(
        "pid", "tid", pl.col("ts_ns").alias("compiles_ns")
    )
    first = outermost.sort("ts_ns").join_asof(
        within.sort("compiles_ns"),
        left_on="ts_ns",
        right_on="compiles_ns",
        by=["pid", "tid"],
        strategy="forward",
        check_sortedness=False,
    )
    return first.filter((pl.col("compiles_ns") >= pl.col("end")).fill_null(True))


def _assign_steps(work: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    if steps.height == 0:
        is_counted = pl.int_range(pl.len()) >= n_ahead_of_launches(work)
        return work.with_columns(pl.when(is_counted).then(pl.lit(0, pl.Int32())).alias("step"))
    moment = _moment(work)
    at = work[moment]
    before, after = -1, steps.height
    number = steps["ts_ns"].search_sorted(at.fill_null(0), side="right").cast(pl.Int32) - 1
    numbered = work.with_columns(
        pl.when(pl.col(moment) > steps["end_ns"].max())
        .then(after)
        .when(pl.col(moment).is_not_null())
        .then(number)
        .cast(pl.Int32)
        .alias("step")
    )
    # A stream runs in order, so an event without a launch is left over from before the steps
    # where it is the first of its stream, and belongs to its neighbours where it is not.
    if numbered["step"].null_count():
        numbered = numbered.with_columns(
            pl.col("step").forward_fill().over("device", "stream").fill_null(before)
        )
    return numbered.with_columns(
        pl.when(pl.col("step").is_between(0, after - 1)).then("step").alias("step")
    )
