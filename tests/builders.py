"""Made-up traces and runs, whose numbers can be worked out by hand. All times in ns."""

from pathlib import Path
from typing import Any

import polars as pl

from profiler_core.analysis.step_time import StepTime
from profiler_core.analysis.steps import Window, window_of
from profiler_core.analysis.work import device_work
from profiler_core.model.run import Measurement, Numerics, Round, RunFiles, RunRecord
from profiler_core.model.tally import Tally
from profiler_core.model.trace import KERNEL, MEMCPY, MEMSET, TABLE_SCHEMAS, Trace

Row = dict[str, Any]

MAIN, AUTOGRAD = 100, 101  # two host threads


def a_trace(**tables: list[Row]) -> Trace:
    """A trace of the given rows; what a row leaves out is null. Tables are sorted by ts_ns."""
    metadata = tables.pop("metadata", {})
    frames = {}
    for table, schema in TABLE_SCHEMAS.items():
        rows = [{column: row.get(column) for column in schema} for row in tables.pop(table, [])]
        frames[table] = pl.DataFrame(rows, schema=schema).sort("ts_ns", maintain_order=True)
    assert not tables, f"no such tables: {list(tables)}"
    n_events = sum(frame.height for name, frame in frames.items() if name != "collectives")
    return Trace(
        source="made-up.json", origin_ns=0, metadata=metadata, tally=Tally(n_events), **frames
    )


def find_window(trace: Trace) -> Window:
    """The window of a trace and its steps."""
    return window_of(trace, device_work(trace))


def kernel(ts: int, dur: int, correlation: int | None = None, **more: Any) -> Row:
    """A kernel on stream 7 of device 0."""
    return {
        "ts_ns": ts,
        "dur_ns": dur,
        "cat": KERNEL,
        "name": "a_kernel",
        "device": 0,
        "stream": 7,
        "correlation": correlation,
        **more,
    }


def memcpy(ts: int, dur: int, correlation: int | None = None, **more: Any) -> Row:
    """A copy between devices."""
    return kernel(ts, dur, correlation, **{"cat": MEMCPY, "name": "Memcpy DtoD", **more})


def memset(ts: int, dur: int, correlation: int | None = None, **more: Any) -> Row:
    """A memset."""
    return kernel(ts, dur, correlation, **{"cat": MEMSET, "name": "Memset (Device)", **more})


def launch(ts: int, dur: int, correlation: int | None, **more: Any) -> Row:
    """A call that launches, on the main thread."""
    return {
        "ts_ns": ts,
        "dur_ns": dur,
        "cat": "cuda_runtime",
        "name": "cudaLaunchKernel",
        "pid": 1,
        "tid": MAIN,
        "correlation": correlation,
        **more,
    }


def op(ts: int, dur: int, name: str, tid: int = MAIN) -> Row:
    """A host operator or annotation."""
    return {"ts_ns": ts, "dur_ns": dur, "name": name, "pid": 1, "tid": tid}


def step(number: int, ts: int, dur: int) -> Row:
    """The annotation of a profiled step."""
    return op(ts, dur, f"ProfilerStep#{number}")


def a_run(
    *walls: int,
    n_steps: int = 10,
    variant: str = "eager",
    role: str | None = None,
    numerics: Numerics | None = None,
    record: Row | None = None,
    **measurement: Any,
) -> RunFiles:
    """A run with one timed round for each wall time; no rounds, no measurement."""
    rounds = tuple(
        Round(index=index, order=0, n_steps=n_steps, wall_ns=wall)
        for index, wall in enumerate(walls)
    )
    fields = {
        "run_id": variant,
        "capture_id": "capture",
        "spec": {"compile": variant != "eager"},
        **(record or {}),
    }
    return RunFiles(
        record=RunRecord(
            variant=variant,
            role=role,
            numerics=numerics,
            measurement=Measurement(rounds=rounds, **measurement) if walls or measurement else None,
            **fields,
        ),
        path=Path(variant),
    )


def a_step_time(baseline_ns, candidate_ns, *, interval=(1.9, 2.1), clock="unprofiled"):
    """Times of a pair with 20 rounds in turns."""
    ratio = baseline_ns / candidate_ns
    return StepTime(
        baseline_ns, candidate_ns, ratio, interval, True, clock, (20, 20), (200, 200), True
    )
