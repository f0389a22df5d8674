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

from profiler_core.analysis.work import device_work, host_steps
from profiler_core.model.trace import Trace

SYNCHRONISING = re.compile(
    r"(cuda|hip|cu)(Device|Stream|Event|Ctx)Synchronize|^(cuda|hip)Memcpy(2D|3D)?$|^cuMemcpy[HD]to"
)
# Between kernels that wait in the queue, where the trace holds no such pair (H200: 1.1 µs).
DEFAULT_GAP_NS = 1000
MAX_GAP_NS = 10_000  # longer gaps are the host's
MAX_ITEMS = 200_000
# Work of the host without the profiler is at least this part of what was recorded: where more is
# missing, the number of events cannot be the reason, and the host is not what the step waits for.
MIN_HOST_SHARE = 0.1

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Queues:
    """What happened on both sides, as arrays over the host's launches and waits, in order.

    host_ns: work of the host from the item before (or the step's start) to this one.
    host_events: how many operators, ranges and runtime calls the profiler wrote down in it.
    removable_ns, removable_events: the part of both that a question would take away.
    device_ns: device work that this item starts, 0 for a wait.
    waits: True where the host waits for the device.
    """

    host_ns: Floats
    host_events: Floats
    removable_ns: Floats
    removable_events: Floats
    device_ns: Floats
    waits: npt.NDArray[np.bool_]
    step: npt.NDArray[np.int64]
    gap_ns: float
    n_steps: int

    @property
    def device_per_step_ns(self) -> float:
        """Device time a step, the gaps between kernels that wait in the queue included."""
        busy = self.device_ns[self.device_ns > 0]
        return float((busy.sum() + self.gap_ns * busy.size) / self.n_steps)

    @property
    def removable_per_step_ns(self) -> float:
        """Host work a step that the question would take away, on the profiled clock."""
        return float(self.removable_ns.sum() / self.n_steps)


def queues(
    trace: Trace, removable: list[tuple[int, int]], slower: list[tuple[int, int]] | None = None
) -> Queues | None:
    """Lay a trace out as two queues.

    Args:
        trace: with ProfilerStep annotations.
        removable: intervals of the host's time, ns, in order and disjoint. Launches inside stay,
            waits inside go.
        slower: further such intervals, none inside the others: time that would go although what
            happens in it (its events, too) stays.

    Returns:
        None without steps.
    """
    steps = host_steps(trace)
    if steps.height == 0:
        return None
    items = _items(trace, steps)
    ends = steps["end_ns"].to_numpy()
    starts = steps["ts_ns"].to_numpy()
    cover = _Cover(sorted([*removable, *(slower or [])]))
    seen = _Seen(trace, _Cover(removable))
    spans: list[tuple[int, int, int]] = []  # from, to for all of the work, to for what may go
    host, taken, device, waits, number = [], [], [], [], []
    for step in range(steps.height):
        at = int(starts[step])
        # Code between two steps belongs to the step before it: its end is the next one's start.
        until = int(starts[step + 1]) if step + 1 < steps.height else int(ends[step])
        for begins, call_ends, device_ns, wait in items.get(step, []):
            inside = wait and cover.holds(begins)
            work_until = begins if wait else call_ends
            host.append(max(0, work_until - at))
            spans.append((at, work_until, begins))
            taken.append(cover.within(at, begins))
            device.append(device_ns)
            waits.append(wait and not inside)
            number.append(step)
            at = max(at, call_ends)
        host.append(max(0, until - at))
        spans.append((at, until, until))
        taken.append(cover.within(at, until))
        device.append(0.0)
        waits.append(False)
        number.append(step)
    events, gone = seen.counts(np.array(spans, dtype=np.int64).reshape(-1, 3))
    return Queues(
        host_ns=np.array(host, dtype=np.float64),
        host_events=events,
        removable_ns=np.array(taken, dtype=np.float64),
        removable_events=gone,
        device_ns=np.array(device, dtype=np.float64),
        waits=np.array(waits, dtype=np.bool_),
        step=np.array(number, dtype=np.int64),
        gap_ns=_gap(trace),
        n_steps=steps.height,
    )


def replay_ns(
    two: Queues, *, event_ns: float = 0.0, removed: bool = False, removed_event_ns: float = 0.0
) -> float:
    """Time of a step in the steady state.

    Args:
        two: the queues.
        event_ns: what the profiler costs the host for each event that it writes down.
        removed: take the removable work away.
        removed_event_ns: the same cost for the events of the removable work.
    """
    host = device = clock = ready = 0.0
    ends: list[float] = []
    repeats = 2 if two.n_steps > 1 else 4
    work = _unprofiled(two.host_ns, two.host_events, event_ns)
    if removed:
        work = work - _unprofiled(two.removable_ns, two.removable_events, removed_event_ns)
    rows = list(
        zip(
            work.tolist(),
            two.device_ns.tolist(),
            two.waits.tolist(),
            two.step.tolist(),
            strict=True,
        )
    )
    for _ in range(repeats):
        current = 0
        for host_ns, device_ns, waits, step in rows:
            if step != current:
                ends.append(max(host, device))
                current = step
            clock += host_ns  # may run ahead where more is removed than there is: caught up later
            host = ready = max(ready, clock)
            if waits:
                host = ready = clock = max(host, device)
            elif device_ns:
                device = max(host, device + two.gap_ns) + device_ns
        ends.append(max(host, device))
    half = len(ends) // 2 - 1
    return (ends[-1] - ends[half]) / (len(ends) - 1 - half)


def profiler_event_ns(two: Queues, step_ns: float) -> float | None:
    """The cost of one event at which the replay takes `step_ns`; None where the host never matters.

    Profiling does not make the host faster, so the cost is at least 0.
    """
    low, high = 0.0, float(two.host_ns.sum() / max(1.0, two.host_events.sum())) * 8
    if replay_ns(two, event_ns=high) >= 0.99 * step_ns:
        return None
    if replay_ns(two) <= step_ns:
        return 0.0
    for _ in range(16):
        middle = (low + high) / 2
        if replay_ns(two, event_ns=middle) > step_ns:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _unprofiled(work_ns: Floats, events: Floats, event_ns: float) -> Floats:
    return np.maximum(work_ns - events * event_ns, MIN_HOST_SHARE * work_ns)


class _Seen:
    """The events that the profiler wrote down on the host, by the moment at which they begin."""

    def __init__(self, trace: Trace, cover: "_Cover") -> None:
        tables = (trace.ops, trace.annotations, trace.runtime)
        self._at = np.sort(np.concatenate([table["ts_ns"].to_numpy() for table in tables]))
        self._inside = np.concatenate(([0], np.cumsum(cover.hold(self._at))))

    def counts(self, spans: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """(events, events inside what may go) for rows of (from, to, to for what may go)."""
        first, last, last_gone = (
            np.searchsorted(self._at, spans[:, column], side="left") for column in range(3)
        )
        events = np.maximum(0, last - first).astype(np.float64)
        gone = np.maximum(0, self._inside[last_gone] - self._inside[first]).astype(np.float64)
        return events, gone


class _Cover:
    """Lengths of disjoint ordered intervals inside others."""

    def __init__(self, intervals: list[tuple[int, int]]) -> None:
        self._starts = np.array([start for start, _ in intervals], dtype=np.int64)
        self._ends = np.array([end for _, end in intervals], dtype=np.int64)
        self._before = np.concatenate(([0], np.cumsum(self._ends - self._starts)))

    def _until(self, moment: int) -> float:
        n = int(np.searchsorted(self._starts, moment, side="right"))
        if n == 0:
            return 0.0
        return float(self._before[n - 1] + min(moment, self._ends[n - 1]) - self._starts[n - 1])

    def within(self, start: int, end: int) -> float:
        return self._until(end) - self._until(start) if end > start else 0.0

    def holds(self, moment: int) -> bool:
        return bool(self.hold(np.array([moment]))[0])

    def hold(self, moments: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """The same for many moments at once."""
        if self._starts.size == 0:
            return np.zeros(moments.size, dtype=np.bool_)
        n = np.searchsorted(self._starts, moments, side="right")
        return (n > 0) & (moments < self._ends[n - 1])


def _items(trace: Trace, steps: pl.DataFrame) -> dict[int, list[tuple[int, int, float, bool]]]:
    """Per step, in order of time: (call begins, call ends, device ns, is a wait)."""
    found: dict[int, list[tuple[int, int, float, bool]]] = {}
    if trace.has_device_events:
        for step, begins, ends, busy in _launched(trace).head(MAX_ITEMS).iter_rows():
            found.setdefault(step, []).append((begins, ends, float(busy), False))
    names = trace.runtime.select(pl.col("name").unique())
    fitting = [bool(SYNCHRONISING.search(name)) for name in names["name"].cast(pl.String)]
    waits = trace.runtime.join(
        names.filter(pl.Series(fitting, dtype=pl.Boolean)), on="name", how="semi"
    ).select("ts_ns", "dur_ns")
    starts = steps["ts_ns"]
    for ts, dur in waits.head(MAX_ITEMS).iter_rows():
        step = int(starts.search_sorted(ts, side="right")) - 1
        # A synchronisation after the steps belongs to the profiler's export.
        if 0 <= step < steps.height and ts < int(steps["end_ns"].max()):  # type: ignore[arg-type]
            found.setdefault(step, []).append((ts, ts + dur, 0.0, True))
    for entries in found.values():
        entries.sort()
    return found


def _launched(trace: Trace) -> pl.DataFrame:
    """step, launch begins, launch ends, device time that it starts, overlap counted once."""
    work = device_work(trace).filter(
        pl.col("step").is_not_null(), pl.col("launch_row").is_not_null()
    )
    end = pl.col("ts_ns") + pl.col("dur_ns")
    before = end.cum_max().shift(1, fill_value=0).over("device")
    return (
        work.sort("ts_ns")
        .with_columns(own=(end - pl.max_horizontal("ts_ns", before)).clip(0, None), end=end)
        .group_by("launch_row", maintain_order=True)
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
        .select("step", "launch_ts_ns", "launch_end", "busy")
        .sort("launch_ts_ns")
    )


def _gap(trace: Trace) -> float:
    """Median pause between two pieces of device work of which the second waited in the queue."""
    if not trace.has_device_events:
        return 0.0
    work = device_work(trace).sort("ts_ns")
    gaps = (
        work.with_columns(
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
