"""Replay host and device as two queues: what would a step take if the host had less to do?

The host works through its launches in order and waits where it synchronises; the device runs what
was launched, in order, one piece after the other. Device durations are as measured. The profiler
makes the host slower by writing down each operator, range and runtime call: that costs about the
same for each of them (2.8 to 5.4 µs on the hosts of the H200s measured, docs/graph_break_cost.md),
while code that it does not see runs at its own speed. So the cost of one event is what brings the
replay to the unprofiled step time. What overlaps on the device (streams, dependent launches) counts
once.
"""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.per_name import per_name
from profiler_core.analysis.step_sample import Ints, StepSample, sample_steps
from profiler_core.analysis.work import device_work
from profiler_core.model.trace import Trace

SYNCHRONISING = re.compile(
    r"(cuda|hip|cu)(Device|Stream|Event|Ctx)Synchronize|^(cuda|hip)Memcpy(2D|3D)?$|^cuMemcpy[HD]to"
)
# Between kernels that wait in the queue, where the trace holds no such pair (H200: 1.1 µs).
DEFAULT_GAP_NS = 1000
MAX_GAP_NS = 10_000  # longer gaps are the host's
# Work of the host without the profiler is at least this part of what was recorded: where more is
# missing, the number of events cannot be the reason, and the host is not what the step waits for.
MIN_HOST_SHARE = 0.1

Floats = npt.NDArray[np.float64]
_OF_LAUNCH = ("launch_row", "launch_ts_ns", "launch_dur_ns")


@dataclass(frozen=True)
class Queues:
    """What happened on both sides, as arrays over the host's launches and waits, in order.

    host_ns: work of the host from the item before (or the step's start) to this one.
    host_events: how many operators, ranges and runtime calls the profiler wrote down in it.
    removable_ns, removable_events: the part of both that a question would take away.
    device_ns: device work that this item starts, 0 for a wait.
    waits: True where the host waits for the device, and would still wait.
    """

    host_ns: Floats
    host_events: Floats
    removable_ns: Floats
    removable_events: Floats
    device_ns: Floats
    waits: npt.NDArray[np.bool_]
    step: npt.NDArray[np.int64]
    begins: Ints  # of the call itself, on the trace's clock
    launch_row: Ints  # of the call among the trace's runtime calls; -1 for what launches nothing
    gap_ns: float
    n_steps: int  # those in the queues: a sample, where the trace has very many
    n_all_steps: int

    @property
    def device_per_step_ns(self) -> float:
        """Device time per step, the gaps between kernels that wait in the queue included."""
        busy = self.device_ns[self.device_ns > 0]
        return float((busy.sum() + self.gap_ns * busy.size) / self.n_steps)

    @property
    def removable_per_step_ns(self) -> float:
        """Host work a step that the question would take away, on the profiled clock."""
        return float(self.removable_ns.sum() / self.n_steps)


def queues(
    trace: Trace,
    removable: list[tuple[int, int]],
    slower: list[tuple[int, int]] | None = None,
    sample: StepSample | None = None,
    *,
    launches_go: bool = False,
) -> Queues | None:
    """Lay a trace out as two queues.

    Args:
        trace: with ProfilerStep annotations.
        removable: intervals of the host's time, ns, in order and disjoint. Launches inside stay,
            waits inside go.
        slower: further such intervals, none inside the others: time that would go although what
            happens in it (its events, too) stays.
        sample: the steps to lay out, one after the other; the intervals must be those inside them.
        launches_go: the host's time in launches inside of `removable` goes too.

    Returns:
        None without steps.
    """
    sample = sample or sample_steps(trace)
    if sample.n == 0:
        return None
    work = device_work(trace) if trace.has_device_events else None
    items = _items(trace, sample, work)
    step = items.step
    # The host is free again after the longest call so far; a step begins with a free one. Each
    # step gets a stretch of its own on one axis, so that one running maximum does for all.
    stretch = int(max(sample.untils.max(), items.ends.max())) + 1
    free = np.maximum.accumulate(items.ends + step * stretch) - step * stretch
    at = np.empty_like(free)
    at[1:] = free[:-1]
    first = np.append(True, step[1:] != step[:-1])
    at[first] = sample.starts[step[first]]
    at = np.maximum(at, sample.starts[step])
    work_until = np.where(items.waits, items.begins, items.ends)
    cover = _Cover(sorted([*removable, *(slower or [])]))
    gone_until = work_until if launches_go else items.begins
    events, removable_events = _Seen(trace, sample, _Cover(removable)).counts(
        np.stack([at, work_until, gone_until], axis=1)
    )
    return Queues(
        host_ns=np.maximum(0, work_until - at).astype(np.float64),
        host_events=events,
        removable_ns=cover.within(at, gone_until),
        removable_events=removable_events,
        device_ns=items.device_ns,
        waits=items.waits & ~cover.hold(items.begins),
        step=step,
        begins=items.begins,
        launch_row=items.launch_row,
        gap_ns=_gap(work),
        n_steps=sample.n,
        n_all_steps=sample.n_all,
    )


def replay_ns(two: Queues, *, event_ns: float = 0.0) -> float:
    """Time of a step in the steady state.

    Args:
        two: the queues.
        event_ns: what the profiler costs the host for each event that it writes down.
    """
    work = unprofiled(two.host_ns, two.host_events, event_ns)
    return steady_step_ns(two, work, two.device_ns, two.waits)


def steady_step_ns(
    two: Queues, work: Floats, device_ns: Floats, waits: npt.NDArray[np.bool_]
) -> float:
    """Time of a step in the steady state, with this work in place of what the queues hold.

    Args:
        two: the queues, for their steps and the gap between kernels.
        work: of the host, ns, for each item; below 0 where more is removed than there is.
        device_ns: of the device; 0 for what starts none.
        waits: where the host waits for the device.
    """
    host = device = clock = ready = 0.0
    ends: list[float] = []
    gap_ns = two.gap_ns
    repeats = 2 if two.n_steps > 1 else 4
    rows = list(
        zip(work.tolist(), device_ns.tolist(), waits.tolist(), two.step.tolist(), strict=True)
    )
    for _ in range(repeats):
        current = 0
        for host_ns, busy_ns, is_wait, step in rows:
            if step != current:
                ends.append(max(host, device))
                current = step
            clock += host_ns  # may run ahead where more is removed than there is: caught up later
            if clock > ready:  # faster than max(): this runs some 100 000 times
                ready = clock
            host = ready
            if is_wait:
                host = ready = clock = max(host, device)
            elif busy_ns:
                device += gap_ns
                device = (host if host > device else device) + busy_ns
        ends.append(max(host, device))
    half = len(ends) // 2 - 1
    return (ends[-1] - ends[half]) / (len(ends) - 1 - half)


def unprofiled(work_ns: Floats, events: Floats, event_ns: float) -> Floats:
    """What the host's work takes where nothing writes down its events, at `event_ns` for each."""
    return np.maximum(work_ns - events * event_ns, MIN_HOST_SHARE * work_ns)


class _Seen:
    """The events that the profiler wrote down on the host, by the moment at which they begin."""

    def __init__(self, trace: Trace, sample: StepSample, cover: "_Cover") -> None:
        tables = (trace.ops, trace.annotations, trace.runtime)
        moments = [table["ts_ns"].to_numpy() for table in tables]
        if not sample.is_all:
            moments = [at[sample.rows(at)] for at in moments]
        self._at = np.sort(np.concatenate(moments))
        self._inside = np.concatenate(([0], np.cumsum(cover.hold(self._at))))

    def counts(self, spans: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """(events, events inside what may go) for rows of (from, to, to for what may go)."""
        first, last, last_gone = (
            np.searchsorted(self._at, spans[:, column], side="left") for column in range(3)
        )
        events = np.maximum(0, last - first).astype(np.float64)
        removable = np.maximum(0, self._inside[last_gone] - self._inside[first]).astype(np.float64)
        return events, removable


class _Cover:
    """Lengths of disjoint ordered intervals inside others."""

    def __init__(self, intervals: list[tuple[int, int]]) -> None:
        self._starts = np.array([start for start, _ in intervals], dtype=np.int64)
        self._ends = np.array([end for _, end in intervals], dtype=np.int64)
        self._before = np.concatenate(([0], np.cumsum(self._ends - self._starts)))

    def _until(self, moments: Ints) -> Floats:
        n = np.searchsorted(self._starts, moments, side="right")
        last = np.maximum(n - 1, 0)
        length = np.minimum(moments, self._ends[last]) - self._starts[last]
        return np.where(n > 0, self._before[last] + length, 0).astype(np.float64)

    def within(self, starts: Ints, ends: Ints) -> Floats:
        """How much of each span they cover, ns."""
        if self._starts.size == 0:
            return np.zeros(starts.size, dtype=np.float64)
        return np.where(ends > starts, self._until(ends) - self._until(starts), 0.0)

    def hold(self, moments: Ints) -> npt.NDArray[np.bool_]:
        """Does a moment lie in one of them?"""
        if self._starts.size == 0:
            return np.zeros(moments.size, dtype=np.bool_)
        n = np.searchsorted(self._starts, moments, side="right")
        return (n > 0) & (moments < self._ends[n - 1])


@dataclass(frozen=True)
class _Items:
    """Launches, waits and the ends of steps, in order of time, step after step.

    An end of a step is an item too, for what the host does after the last launch: it begins and
    ends there.
    """

    step: Ints  # of the sample
    begins: Ints
    ends: Ints
    device_ns: Floats
    waits: npt.NDArray[np.bool_]
    launch_row: Ints


def _items(trace: Trace, sample: StepSample, work: pl.DataFrame | None) -> _Items:
    position_of_step = np.full(sample.n_all, -1, dtype=np.int64)
    position_of_step[sample.numbers] = np.arange(sample.n)
    frames = [
        pl.DataFrame(
            {
                "step": np.arange(sample.n),
                "is_end": np.ones(sample.n, dtype=np.bool_),
                "begins": sample.untils,
                "ends": sample.untils,
                "device_ns": np.zeros(sample.n),
                "waits": np.zeros(sample.n, dtype=np.bool_),
                "launch_row": np.full(sample.n, -1, dtype=np.int64),
            }
        )
    ]
    if work is not None:
        launched = _launched(work, sample)
        frames.append(
            launched.select(
                pl.Series("step", position_of_step[launched["step"].to_numpy()]),
                pl.lit(value=False).alias("is_end"),
                begins="launch_ts_ns",
                ends="launch_end",
                device_ns=pl.col("busy").cast(pl.Float64),
                waits=pl.lit(value=False),
                launch_row=pl.col("launch_row").cast(pl.Int64),
            )
        )
    waiting = per_name(
        trace.runtime["name"], lambda name: bool(SYNCHRONISING.search(name)), pl.Boolean
    )
    waits = trace.runtime.select("ts_ns", "dur_ns").filter(waiting)
    at = waits["ts_ns"].to_numpy()
    # A synchronisation after the steps belongs to the profiler's export.
    waits = waits.filter(pl.Series(sample.holds(at) & (at < sample.untils[-1])))
    number = np.searchsorted(sample.starts, waits["ts_ns"].to_numpy(), side="right") - 1
    frames.append(
        waits.select(
            pl.Series("step", number),
            pl.lit(value=False).alias("is_end"),
            begins="ts_ns",
            ends=pl.col("ts_ns") + pl.col("dur_ns"),
            device_ns=pl.lit(0.0),
            waits=pl.lit(value=True),
            launch_row=pl.lit(-1, pl.Int64),
        )
    )
    every = pl.concat(frames).sort("step", "is_end", "begins", "ends", "device_ns", "waits")
    return _Items(
        step=every["step"].to_numpy(),
        begins=every["begins"].to_numpy(),
        ends=every["ends"].to_numpy(),
        device_ns=every["device_ns"].to_numpy(),
        waits=every["waits"].to_numpy(),
        launch_row=every["launch_row"].to_numpy(),
    )


def _launched(work: pl.DataFrame, sample: StepSample) -> pl.DataFrame:
    """step, launch begins, launch ends, device time that it starts, overlap counted once."""
    end = pl.col("ts_ns") + pl.col("dur_ns")
    before = end.cum_max().shift(1, fill_value=0).over("device")
    in_steps = (
        work.select("ts_ns", "dur_ns", "device", "step", *_OF_LAUNCH)
        .filter(pl.col("step").is_not_null(), pl.col("launch_row").is_not_null())
        .sort("ts_ns")
        .with_columns(own=(end - pl.max_horizontal("ts_ns", before)).clip(0, None), end=end)
    )
    if not sample.is_all:
        in_steps = in_steps.filter(
            pl.col("step").is_in(pl.Series(sample.numbers, dtype=pl.Int32).implode())
        )
    return (
        in_steps.group_by("launch_row", maintain_order=True)
        .agg(
            pl.col("step").first(),
            pl.col("launch_ts_ns").first(),
            (pl.col("launch_ts_ns") + pl.col("launch_dur_ns")).first().alias("launch_end"),
            # A graph runs as a whole, its own gaps included.
            pl.when(pl.len() > 1)
            .then(pl.col("end").max() - pl.col("ts_ns").min())
            .otherwise(pl.col("own").sum())
            .alias("busy"),
        )
        .select("step", "launch_row", "launch_ts_ns", "launch_end", "busy")
        .sort("launch_ts_ns")
    )


def _gap(work: pl.DataFrame | None) -> float:
    """Median pause between two pieces of device work of which the second waited in the queue."""
    if work is None:
        return 0.0
    gaps = (
        work.select("ts_ns", "dur_ns", "device", *_OF_LAUNCH)
        .sort("ts_ns")
        .with_columns(
            before=(pl.col("ts_ns") + pl.col("dur_ns")).cum_max().shift(1).over("device"),
            launched=pl.col("launch_ts_ns") + pl.col("launch_dur_ns"),
        )
        .filter(
            pl.col("launched") <= pl.col("before"),
            (pl.col("ts_ns") - pl.col("before")).is_between(0, MAX_GAP_NS),
        )
        .select((pl.col("ts_ns") - pl.col("before")).median())
        .item()
    )
    return float(gaps) if gaps is not None else float(DEFAULT_GAP_NS)
