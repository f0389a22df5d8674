"""Counters by kernel name, with our own estimate where shapes tell."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from profiler_core.analysis.counters.join import Joined
from profiler_core.analysis.counters.measured import CounterSums, Measured
from profiler_core.model.counters import Counters


@dataclass(frozen=True)
class KernelCounters:
    """All rows of one name."""

    name: str
    measured: Measured
    estimated_bytes: float | None = None  # of the same kernels, from shapes; None: not all known


def counters_by_name(
    counters: Counters,
    joined: Joined | None = None,
    estimates: Mapping[int, int] | None = None,
) -> tuple[KernelCounters, ...]:
    """By ncu's name over the whole file, the longest first.

    Args:
        counters: the file.
        joined: with a trace, for the estimates.
        estimates: row of the trace's device_work -> bytes.
    """
    by_row: dict[int, int] = {}
    if joined is not None and estimates:
        for event in np.flatnonzero(joined.row_of_event >= 0).tolist():
            if event in estimates:
                by_row.setdefault(int(joined.row_of_event[event]), estimates[event])
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(counters.kernels["name"]):
        rows.setdefault(name, []).append(row)
    sums = CounterSums(counters)
    by_name = [
        KernelCounters(name, sums.of(every), _all([by_row.get(row) for row in every]))
        for name, every in rows.items()
    ]
    return tuple(
        sorted(by_name, key=lambda kernel: (-(kernel.measured.time_ns or 0.0), kernel.name))
    )


def counters_by_trace_name(
    joined: Joined, work: pl.DataFrame, estimates: Mapping[int, int]
) -> dict[str, KernelCounters]:
    """By the trace's name, over one joined step; kernels without a row are not in it.

    Args:
        joined: counters with this trace.
        work: of the trace, as `device_work` gives it.
        estimates: row of `work` -> bytes.
    """
    names = work["name"][list(joined.first_step_events)].cast(pl.String)
    events: dict[str, list[int]] = {}
    for event, name in zip(joined.first_step_events, names, strict=True):
        events.setdefault(name, []).append(event)
    sums = CounterSums(joined.counters)
    return {
        name: KernelCounters(
            name,
            sums.of(int(joined.row_of_event[event]) for event in every),
            _all([estimates.get(event) for event in every]),
        )
        for name, every in events.items()
    }


def _all(values: list[int | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return float(sum(numbers)) if numbers and len(numbers) == len(values) else None
