"""Which part of a trace is measured: the window, and its single steps.

The GPU runs behind the host, so a device event belongs to the step that launched it.
"""

from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.span import IN_TRACE, PER_STEP, Span
from profiler_core.analysis.work import host_steps, launched_after
from profiler_core.model.trace import TABLE_SCHEMAS, Trace

# Spans of the profiler itself; "Trace" lasts as long as the recording.
_BOOKKEEPING = ["Trace", "overhead"]


@dataclass(frozen=True)
class Step:
    """One profiled step. Consecutive steps touch; together they are the window exactly."""

    name: str  # "ProfilerStep#3"
    ts_ns: int  # where the step before it was cut
    dur_ns: int  # up to the end of its last device event, or of its host range if that is later
    host_ts_ns: int  # the annotation itself
    host_dur_ns: int


@dataclass(frozen=True)
class Window:
    """The span that all totals are about. `steps` is empty without ProfilerStep annotations."""

    start_ns: int
    end_ns: int
    steps: tuple[Step, ...]
    n_left_over: int  # device events launched before the first step, or the trace; in no total
    annotated: bool  # False: the window is the whole trace
    n_launched_after: int = 0  # device events launched after the last step; in no total

    @property
    def dur_ns(self) -> int:
        """Length of the window."""
        return self.end_ns - self.start_ns

    @property
    def n_steps(self) -> int:
        """What "per step" divides by: 1 for a trace without steps, which counts as one."""
        return max(1, len(self.steps))


def span_of(trace: Trace) -> Span:
    """What numbers of a trace are of: one step, or all of it where it holds no whole ones."""
    return PER_STEP if host_steps(trace).height and not trace.tally.is_cut else IN_TRACE


def window_of(trace: Trace, work: pl.DataFrame) -> Window:
    """The window, from the work that `device_work(trace)` found.

    It runs from the later of (start of the first step, end of the left-over work) to the later
    of (end of the last step, end of the last device event that a step launched). Without steps,
    the first and the last event of the trace that is not left over take the place of the steps.
    """
    steps = host_steps(trace)
    is_after = launched_after(work, steps)
    left_over = work.filter(pl.col("step").is_null() & ~is_after)
    left_over_end = left_over.select((pl.col("ts_ns") + pl.col("dur_ns")).max()).item() or 0
    if steps.height == 0:
        first, last = _extent(trace, left_over.height)
        start = max(first, left_over_end)
        return Window(start, max(start, last), (), left_over.height, annotated=False)
    ends = work.group_by("step").agg((pl.col("ts_ns") + pl.col("dur_ns")).max().alias("device_end"))
    start = max(steps["ts_ns"][0], left_over_end)
    cuts = (
        steps.join(ends.select("step", "device_end"), on="step", how="left")
        .sort("step")
        .with_columns(
            pl.max_horizontal("end_ns", "device_end", pl.lit(start)).cum_max().alias("cut")
        )
        .with_columns(pl.col("cut").shift(1, fill_value=start).alias("from"))
    )
    return Window(
        start_ns=start,
        end_ns=cuts["cut"][-1],
        steps=tuple(
            Step(name, begins, cut - begins, ts, end - ts)
            for name, begins, cut, ts, end in cuts.select(
                "name", "from", "cut", "ts_ns", "end_ns"
            ).iter_rows()
        ),
        n_left_over=left_over.height,
        annotated=True,
        n_launched_after=int(is_after.sum()),
    )


def _extent(trace: Trace, n_left_over: int) -> tuple[int, int]:
    """First start and last end of what ran; the profiler's own bookkeeping is left out.

    Args:
        trace: without steps.
        n_left_over: its first device events, which are left out too.
    """
    starts, ends = [], []
    for table in TABLE_SCHEMAS:
        frame: pl.DataFrame = getattr(trace, table)
        if table in ("memory", "counters"):
            continue
        if table == "device":
            frame = frame.slice(n_left_over)
        if table == "other":
            frame = frame.filter(pl.col("ph") == "X", ~pl.col("cat").is_in(_BOOKKEEPING))
        if frame.height:
            starts.append(int(frame["ts_ns"].min()))  # type: ignore[arg-type]
            ends.append(int((frame["ts_ns"] + frame["dur_ns"]).max()))  # type: ignore[arg-type]
    return (min(starts), max(ends)) if starts else (0, 0)
