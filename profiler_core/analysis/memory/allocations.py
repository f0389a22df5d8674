"""Every allocation of the profiled steps: how long it lived, and for which operator and kernel.

A [memory] event names its thread, so the operator around it is known. Inductor's generated code
allocates each buffer right before the kernel that fills it and inside no operator, and an eager
operator allocates its result before it launches: so the next launch of the thread says what an
allocation is for, on both sides alike. On a CPU, where operators are the work, it is for the one
that it lies in, else for the next of its thread, if the trace names Inductor's kernels.
"""

import polars as pl

from profiler_core.analysis.memory.curve import device_events
from profiler_core.analysis.unnamed_code import names_generated_code
from profiler_core.analysis.work import device_work, host_steps, is_wrapper
from profiler_core.model.trace import Trace


def allocations(trace: Trace, device_type: int, device_id: int) -> pl.DataFrame:
    """Allocations on one device, in order of time.

    Returns:
        ts_ns, bytes, freed_ns (null: lives on after the steps), tid, step (null: between steps),
        operator (the outermost around it, else around the next launch; null: neither), kernel (the
        next that the thread launched; on a CPU the operator that it is for), work_row (its row in
        `device_work`), both null where there is none in the step.
    """
    events = (
        device_events(trace)
        .filter(pl.col("device_type") == device_type, pl.col("device_id") == device_id)
        .select("ts_ns", "bytes", "addr", "tid")
        .with_row_index("order")
    )
    operators = outermost_operators(trace).sort("ts_ns").rename({"ts_ns": "op_ts"})
    made = _with_kernels(_with_steps(_with_ends(events), trace), trace)
    made = _around(made, operators, "ts_ns", "operator")
    made = _around(made, operators, "launch_ts_ns", "launched_by")
    return (
        made.with_columns(operator=pl.coalesce("operator", "launched_by"))
        .sort("order")
        .drop("order", "launched_by", "launch_ts_ns")
    )


def _with_ends(events: pl.DataFrame) -> pl.DataFrame:
    """An address is used again and again: each allocation ends at the next free of its address."""
    made = events.filter(pl.col("bytes") > 0)
    freed = events.filter(pl.col("bytes") < 0).select("addr", "order", freed_ns="ts_ns")
    paired = made.sort("order").join_asof(
        freed.sort("order").rename({"order": "free_order"}),
        left_on="order",
        right_on="free_order",
        by="addr",
        strategy="forward",
        check_sortedness=False,
    )
    # The free belongs to it only where the address is not handed out again before.
    following = pl.col("order").shift(-1).over("addr", order_by="order")
    is_its_free = following.is_null() | (pl.col("free_order") < following)
    return paired.with_columns(
        freed_ns=pl.when(is_its_free).then("freed_ns"),
    ).drop("free_order", "addr")


def _with_steps(made: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    steps = host_steps(trace).select("step", step_end="end_ns", step_ts="ts_ns")
    if steps.height == 0:
        return made.with_columns(step=pl.lit(0, pl.Int32))
    return (
        made.sort("ts_ns")
        .join_asof(steps, left_on="ts_ns", right_on="step_ts")
        .with_columns(step=pl.when(pl.col("ts_ns") <= pl.col("step_end")).then("step"))
        .drop("step_end", "step_ts")
    )


def outermost_operators(trace: Trace) -> pl.DataFrame:
    """Operators on the host that lie in no other one: ts_ns, end_ns, operator, tid.

    The wrappers that torch.compile and autograd put around operators count as nothing.
    """
    ranges = trace.ops.select(
        "ts_ns", "tid", end_ns=pl.col("ts_ns") + pl.col("dur_ns"), operator=pl.col("name")
    )
    names = ranges.select(pl.col("operator").unique())
    is_operator = [not is_wrapper(name) for name in names["operator"].cast(pl.String)]
    return (
        ranges.join(
            names.filter(pl.Series(is_operator, dtype=pl.Boolean)), on="operator", how="semi"
        )
        .sort("tid", "ts_ns", "end_ns", descending=[False, False, True])
        .filter(
            (pl.col("ts_ns") >= pl.col("end_ns").cum_max().shift(1).over("tid")).fill_null(True)
        )
        .with_columns(pl.col("operator").cast(pl.String))
    )


def _around(made: pl.DataFrame, operators: pl.DataFrame, moment: str, column: str) -> pl.DataFrame:
    """The operator that runs on the thread at that moment; null where none does."""
    with_moment = made.filter(pl.col(moment).is_not_null()).sort(moment)
    inside = pl.col(moment) < pl.col("end_ns")
    with_operator = with_moment.join_asof(
        operators.rename({"operator": column}),
        left_on=moment,
        right_on="op_ts",
        by="tid",
        check_sortedness=False,
    ).select("order", pl.when(inside).then(column).alias(column))
    return made.join(with_operator, on="order", how="left")


def _with_kernels(made: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    launched = _launched(trace) if trace.has_device_events else _run_on_the_host(trace)
    is_its = pl.col("kernel_step") == pl.col("step")
    if not trace.has_device_events and not names_generated_code(trace):
        # The operator that follows may be a later one than the kernel that fills the buffer.
        is_its &= pl.col("launch_ts_ns") <= pl.col("ts_ns")
    return (
        made.sort("ts_ns")
        .join_asof(
            launched,
            left_on="ts_ns",
            right_on="until_ns",
            by="tid",
            strategy="forward",
            check_sortedness=False,
        )
        .with_columns(
            pl.when(is_its).then(column).alias(column)
            for column in ("kernel", "work_row", "launch_ts_ns")
        )
        .drop("kernel_step", "until_ns")
    )


def _launched(trace: Trace) -> pl.DataFrame:
    """Device work by its launch, the moment up to which a thread allocates for it (until_ns)."""
    return (
        _work(trace, tid="launch_tid", until_ns="launch_ts_ns")
        .filter(pl.col("launch_ts_ns").is_not_null())
        .sort("launch_ts_ns", maintain_order=True)
        .unique(["tid", "launch_ts_ns"], keep="first", maintain_order=True)
    )


def _run_on_the_host(trace: Trace) -> pl.DataFrame:
    """The same of operators that are the work themselves: up to the end of each."""
    last_ns = pl.col("ts_ns") + pl.col("dur_ns") - 1
    work = _work(trace, tid="stream", until_ns=last_ns, launch_ts_ns="ts_ns")
    return work.sort("until_ns", maintain_order=True)


def _work(trace: Trace, **columns: str | pl.Expr) -> pl.DataFrame:
    named = {"launch_ts_ns": "launch_ts_ns", "kernel_step": "step"} | columns
    return (
        device_work(trace)
        .with_row_index("work_row")
        .select("work_row", kernel=pl.col("name").cast(pl.String), **named)
    )
