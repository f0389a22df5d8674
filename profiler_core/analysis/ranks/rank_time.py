"""One rank's steps divided by priority: compute, exposed communication, exposed copies, idle."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from profiler_core.analysis.intervals import union_of
from profiler_core.analysis.steps import Window
from profiler_core.model.trace import KERNEL

WHOLE_TRACE = "whole trace"  # the name of the one step of a trace without steps


@dataclass(frozen=True)
class StepTime:
    """One step, ns: compute + exposed_communication + exposed_copy + idle == dur.

    communication is the union of all communication kernels, hidden ones included.
    """

    name: str
    dur_ns: int
    compute_ns: int
    communication_ns: int
    exposed_communication_ns: int
    exposed_copy_ns: int
    idle_ns: int

    @property
    def overlap_ns(self) -> int:
        """Communication that ran beside compute."""
        return self.communication_ns - self.exposed_communication_ns


def step_times(work: pl.DataFrame, window: Window) -> tuple[StepTime, ...]:
    """Divide each step of a window; a trace without steps is one.

    Args:
        work: of `categorise`.
        window: of the same trace.
    """
    spans = [(step.name, step.ts_ns, step.ts_ns + step.dur_ns) for step in window.steps] or [
        (WHOLE_TRACE, window.start_ns, window.end_ns)
    ]
    is_communication = pl.col("category") == "communication"
    is_kernel = pl.col("cat") == KERNEL
    compute, communication, copies = (
        work.filter(kind).select("ts_ns", end_ns=pl.col("ts_ns") + pl.col("dur_ns")).to_numpy().T
        for kind in (is_kernel & ~is_communication, is_communication, ~is_kernel)
    )
    times = []
    for name, start, end in spans:
        inside = [_within(kind, start, end) for kind in (compute, communication, copies)]
        only_compute = union_of(*inside[0])
        with_communication = union_of(*np.hstack(inside[:2]))
        with_copies = union_of(*np.hstack(inside))
        times.append(
            StepTime(
                name=name,
                dur_ns=end - start,
                compute_ns=only_compute,
                communication_ns=union_of(*inside[1]),
                exposed_communication_ns=with_communication - only_compute,
                exposed_copy_ns=with_copies - with_communication,
                idle_ns=end - start - with_copies,
            )
        )
    return tuple(times)


def _within(intervals: NDArray[Any], start_ns: int, end_ns: int) -> NDArray[Any]:
    """The parts of intervals (starts, ends) inside a span."""
    starts, ends = intervals
    touching = intervals[:, (starts < end_ns) & (ends > start_ns)]
    inside: NDArray[Any] = np.clip(touching, start_ns, end_ns)
    return inside
