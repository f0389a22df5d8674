"""What the threads that launch work were doing, as one set of instants for each activity.

The sets overlap: a launch inside a graph break is in both. Who reads them takes them by
priority, in the order given here.
"""

import re

import numpy as np
import polars as pl

from profiler_core.analysis.intervals import merge
from profiler_core.analysis.per_name import per_name
from profiler_core.analysis.threads import ThreadAxis
from profiler_core.analysis.work import device_work, is_wrapper
from profiler_core.model.trace import Trace

_SYNCHRONISING_CALL = re.compile(
    r"Synchronize|^(cuda|hip)Memcpy(2D|3D)?$|^hipMemcpyWithStream$|^cuMemcpy(Hto|Dto)[HD](_v2)?$"
    r"|EventQuery"
)
# Reserve or give back the device's memory, or set it up; the first call of all starts the context.
_SETUP_CALL = re.compile(
    r"^(cuda|hip|mu)(Ext)?(Host)?(Malloc|Free|Alloc|Register|Unregister|MemGetInfo)"
    r"|^(cuda|hip)(DeviceGetStreamPriorityRange|StreamCreate|DeviceReset|SetDevice|Init)"
    r"|^(cu|hip)(Mem(Alloc|Free|Create|Release|Map|Unmap|SetAccess|Address|HostAlloc|HostRegister)"
    r"|Module|Library|Init$|DevicePrimaryCtx|CtxCreate)"
)
# Wait where the tensor lies on the device; of a tensor on the CPU they read memory.
_SYNCHRONISING_OPERATOR = re.compile(r"^aten::(item|_local_scalar_dense|is_nonzero|equal|nonzero)$")
_COPY_TO_HOST = re.compile(r"DtoH|DeviceToHost|D2[HM]")
_DATA_LOADER = re.compile(r"DataLoader")
# What torch._dynamo.utils.dynamo_timed is put around: tracing, generating and tuning code, the
# recording of CUDA graphs.
_COMPILING = re.compile(r"\(dynamo_timed\)$")
_REGION = re.compile(r"Torch-Compiled Region|^CompiledFunction")
_AROUND_REGION = re.compile(
    r"TorchDynamo Cache Lookup|Pregraph bytecode|AOTDispatcher Runtime Wrapper"
)
_CALL = re.compile(r"## Call CompiledFxGraph")
_TELLING = re.compile(
    "|".join(
        pattern.pattern
        for pattern in (
            _SYNCHRONISING_OPERATOR,
            _DATA_LOADER,
            _COMPILING,
            _REGION,
            _AROUND_REGION,
            _CALL,
        )
    )
)
_COLUMNS = ("name", "ts_ns", "dur_ns", "pid", "tid")


def host_activities(trace: Trace, axis: ThreadAxis, cuts: list[int]) -> dict[str, pl.DataFrame]:
    """Disjoint instants (start, end) on the axis, by activity, the most telling first.

    Args:
        trace: its operators, annotations and calls are looked at.
        axis: the threads to look at.
        cuts: where steps begin; code between the compiled calls of two steps is no graph break.
    """
    calls = trace.runtime.select(_COLUMNS)
    # Few of the names say anything here: look at those before the rows are touched.
    ranges = pl.concat(
        _named(table.select(_COLUMNS), _TELLING) for table in (trace.ops, trace.annotations)
    )
    placed = axis.place(ranges)
    waiting_calls = axis.place(_named(calls, _SYNCHRONISING_CALL))
    synchronising = pl.concat(
        [
            waiting_calls,
            _that_hold(
                _named(placed, _SYNCHRONISING_OPERATOR),
                pl.concat([waiting_calls["start"], axis.place(_copies_to_host(trace))["start"]]),
            ),
        ]
    )
    regions = _named(placed, _REGION)
    return {
        "compiling": merge(_named(placed, _COMPILING)),
        "synchronisation": merge(synchronising),
        "data_loader": merge(_named(placed, _DATA_LOADER)),
        "setup": merge(axis.place(_named(calls, _SETUP_CALL))),
        "launching": merge(axis.place(calls)),
        "guards": merge(_guards(regions, placed, _first_runs(trace, axis, regions))),
        "between_compiled_calls": merge(_between_compiled_calls(placed, cuts)),
    }


def _named(ranges: pl.DataFrame, pattern: re.Pattern[str]) -> pl.DataFrame:
    return ranges.filter(
        per_name(ranges["name"], lambda name: bool(pattern.search(name)), pl.Boolean)
    )


def _copies_to_host(trace: Trace) -> pl.DataFrame:
    """The calls that launched copies from the device: ts_ns, dur_ns, pid, tid."""
    return _named(device_work(trace), _COPY_TO_HOST).select(
        ts_ns="launch_ts_ns", dur_ns="launch_dur_ns", pid="launch_pid", tid="launch_tid"
    )


def _that_hold(ranges: pl.DataFrame, moments: pl.Series) -> pl.DataFrame:
    """The ranges with at least one of these moments of the axis inside."""
    at = moments.sort()
    return ranges.filter(at.search_sorted(ranges["start"]) < at.search_sorted(ranges["end"]))


def _first_runs(trace: Trace, axis: ThreadAxis, regions: pl.DataFrame) -> pl.Series:
    """Where on the axis each region's thread begins to run something after its guards.

    That is a compiled call or an operator, inside the region or after it.
    """
    never = np.iinfo(np.int64).max
    firsts = np.full(regions.height, never)
    if regions.height == 0:
        return pl.Series("first", firsts)
    moments = regions.select("ts_ns", "pid", "tid").with_row_index("row")
    for table in (trace.ops, trace.annotations):
        is_run = per_name(table["name"], _is_run, pl.Boolean)
        # Tables are in order of ts_ns, so that one search a thread does without sorting rows.
        for pid, tid, _ in axis.threads.iter_rows():
            on_thread = (pl.col("pid") == pid) & (pl.col("tid") == tid)
            thread_moments = moments.filter(on_thread)
            if thread_moments.height == 0:
                continue
            starts = table.select("ts_ns", "pid", "tid").filter(is_run & on_thread)["ts_ns"]
            after = np.append(starts.to_numpy(), never)
            rows = thread_moments["row"].to_numpy()
            next_starts = after[
                np.searchsorted(after[:-1], thread_moments["ts_ns"].to_numpy(), side="left")
            ]
            firsts[rows] = np.minimum(firsts[rows], next_starts)
    length = pl.Series(firsts) - regions["ts_ns"]
    return (
        pl.select(
            pl.when(pl.Series(firsts) == never).then(None).otherwise(regions["start"] + length)
        )
        .to_series()
        .alias("first")
    )


def _is_run(name: str) -> bool:
    return bool(_CALL.search(name)) or not is_wrapper(name)


def _guards(regions: pl.DataFrame, ranges: pl.DataFrame, firsts: pl.Series) -> pl.DataFrame:
    """The start of a region, guards and all else: up to the first thing that it runs."""
    entered = regions.select("start", end=pl.min_horizontal("end", firsts))
    return pl.concat([entered, _named(ranges, _AROUND_REGION).select("start", "end")])


def _between_compiled_calls(ranges: pl.DataFrame, cuts: list[int]) -> pl.DataFrame:
    """From the end of one compiled call to the start of the next of its thread and step."""
    calls = _named(ranges, _CALL).sort("start")
    step = pl.Series(cuts, dtype=pl.Int64).search_sorted(calls["ts_ns"], side="right")
    return (
        calls.with_columns(step.alias("step"))
        .select(start="end", end=pl.col("start").shift(-1).over("pid", "tid", "step"))
        .drop_nulls()
    )
