"""Replay host and device as two queues: what would a step take if the host had less to do?

The host works through its launches in order and waits where it synchronises; the device runs what
was launched, in order, one piece after the other. Device durations are as measured, the host's
work is scaled to the unprofiled clock. What overlaps on the device (streams, dependent launches)
counts once.
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

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Queues:
    """What happened on both sides, as arrays over the host's launches and waits, in order.

    host_ns: work of the host from the item before (or the step's start) to this one.
    removable_ns: the part of it that a question would take away.
    device_ns: device work that this item starts, 0 for a wait.
    waits: True where the host waits for the device.
    """

    host_ns: Floats
    removable_ns: Floats
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


def queues(trace: Trace, removable: list[tuple[int, int]]) -> Queues | None:
    """Lay a trace out as two queues.

    Args:
        trace: with ProfilerStep annotations.
        removable: intervals of the host's time, ns, in order and disjoint. Launches inside stay,
            waits inside go.

    Returns:
        None without steps.
    """
    steps = host_steps(trace)
    if steps.height == 0:
        return None
    items = _items(trace, steps)
    ends = steps["end_ns"].to_numpy()
    starts = steps["ts_ns"].to_numpy()
    cover = _Cover(removable)
    host, taken, device, waits, number = [], [], [], [], []
    for step in range(steps.height):
        at = int(starts[step])
        # Code between two steps belongs to the step before it: its end is the next one's start.
        until = int(starts[step + 1]) if step + 1 < steps.height else int(ends[step])
        for begins, call_ends, device_ns, wait in items.get(step, []):
            inside = wait and cover.holds(begins)
            work_until = begins if wait else call_ends
            host.append(max(0, work_until - at))
            taken.append(cover.within(at, begins))
            device.append(device_ns)
            waits.append(wait and not inside)
            number.append(step)
            at = max(at, call_ends)
        host.append(max(0, until - at))
        taken.append(cover.within(at, until))
        device.append(0.0)
        waits.append(False)
        number.append(step)
    return Queues(
        host_ns=np.array(host, dtype=np.float64),
        removable_ns=np.array(taken, dtype=np.float64),
        device_ns=np.array(device, dtype=np.float64),
        waits=np.array(waits, dtype=np.bool_),
        step=np.array(number, dtype=np.int64),
        gap_ns=_gap(trace),
        n_steps=steps.height,
    )


def replay_ns(two: Queues, *, host_scale: float, removed: float = 0.0) -> float:
    """Time of a step in the steady state.

    Args:
        two: the queues.
        host_scale: unprofiled over profiled duration of the host's work.
        removed: how much of the removable work is taken away, as a factor on its profiled length.
    """
    host = device = clock = ready = 0.0
    ends: list[float] = []
    repeats = 2 if two.n_steps > 1 else 4
    work = two.host_ns * host_scale - two.removable_ns * removed
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


def host_scale(two: Queues, step_ns: float) -> float | None:
    """The scale at which the replay takes `step_ns`; None where the host never matters.

    Profiling does not make the host faster, so the scale is at most 1.
    """
    if replay_ns(two, host_scale=0.02) >= 0.99 * step_ns:
        return None
    low, high = 0.02, 1.0
    if replay_ns(two, host_scale=high) <= step_ns:
        return high
    for _ in range(14):
        middle = (low + high) / 2
        if replay_ns(two, host_scale=middle) < step_ns:
            low = middle
        else:
            high = middle
    return (low + high) / 2


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
        n = int(np.searchsorted(self._starts, moment, side="right"))
        return n > 0 and moment < int(self._ends[n - 1])


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
