"""Which operators call an operator inside of themselves: `aten::linear` calls `aten::addmm`."""

import polars as pl

from profiler_core.analysis.work import device_work, outermost_operators
from profiler_core.model.trace import Trace


def callers_of(trace: Trace, name: str) -> tuple[str, ...]:
    """The outermost operators that call one, the most frequent first.

    Returns:
        () where any call of it is outermost itself.
    """
    callers = _outermost(trace, name)
    return () if name in callers else callers


def callers_beside(trace: Trace, name: str) -> tuple[str, ...]:
    """The outermost operators that call one whose other calls may be outermost themselves."""
    return tuple(caller for caller in _outermost(trace, name) if caller != name)


def _outermost(trace: Trace, name: str) -> tuple[str, ...]:
    """The outermost operators that calls of one lie in, or are; the most frequent first."""
    # Kept: every dossier of an operator asks, and a large trace is sorted for it.
    return _callers(trace, name, trace.derived("outermost operators", outermost_operators))


def callers_on_cpu(trace: Trace, name: str) -> tuple[str, ...]:
    """The operators that count as the CPU's work and call this one, the most frequent first.

    Returns:
        () of a trace with events of a device, where an operator's kernels are the work, and where
        no other calls it in a profiled step.
    """
    if trace.has_device_events:
        return ()
    others = (pl.col("step").is_not_null(), pl.col("name").cast(pl.String) != name)
    return _callers(trace, name, device_work(trace).filter(*others))


def _callers(trace: Trace, name: str, operators: pl.DataFrame) -> tuple[str, ...]:
    """Those of the operators in which its calls lie, the most frequent first.

    Args:
        trace: of both.
        name: of the operator.
        operators: none inside another, each on the "stream" of its thread.
    """
    outer = operators.select(
        "ts_ns", "stream",
        caller=pl.col("name").cast(pl.String), end_ns=pl.col("ts_ns") + pl.col("dur_ns"),
    ).sort("ts_ns")  # fmt: skip
    calls = trace.ops.filter(pl.col("name").cast(pl.String) == name).select("ts_ns", stream="tid")
    inside = (
        calls.sort("ts_ns")
        .join_asof(outer, on="ts_ns", by="stream", check_sortedness=False)
        .filter(pl.col("ts_ns") < pl.col("end_ns"))
    )
    counts = inside.group_by("caller").len().sort("len", "caller", descending=[True, False])
    return tuple(counts["caller"])
