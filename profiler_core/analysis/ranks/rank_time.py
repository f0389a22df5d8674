"""One rank's steps divided by priority: compute, exposed communication, exposed copies, idle."""

from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.intervals import clip, union_ns
from profiler_core.analysis.steps import Window
from profiler_core.model.trace import KERNEL


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
        ("whole trace", window.start_ns, window.end_ns)
    ]
    is_communication = pl.col("category") == "communication"
    compute = work.filter(pl.col("cat") == KERNEL, ~is_communication)
    communication = work.filter(is_communication)
    copies = work.filter(pl.col("cat") != KERNEL)
    times = []
    for name, start, end in spans:
        inside = [_within(kind_work, start, end) for kind_work in (compute, communication, copies)]
        only_compute = union_ns(inside[0])
        with_communication = union_ns(_together(inside[:2]))
        with_copies = union_ns(_together(inside))
        times.append(
            StepTime(
                name=name,
                dur_ns=end - start,
                compute_ns=only_compute,
                communication_ns=union_ns(inside[1]),
                exposed_communication_ns=with_communication - only_compute,
                exposed_copy_ns=with_copies - with_communication,
                idle_ns=end - start - with_copies,
            )
        )
    return tuple(times)


def _within(work: pl.DataFrame, start_ns: int, end_ns: int) -> pl.DataFrame:
    touching = work.filter(
        pl.col("ts_ns") < end_ns, pl.col("ts_ns") + pl.col("dur_ns") > start_ns
    ).select("ts_ns", "dur_ns")
    return clip(touching, start_ns, end_ns)


def _together(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts).sort("ts_ns")
